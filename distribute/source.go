package distribute

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/cuts"
)

// A Source is what another subscriber had counted, also one of another Redis, and was imported.
type Source struct {
	ID            string    // of the subscriber that counted it, random
	Epoch, Commit int64     // of it: the number of its resets, and of its commits since the last one
	Imported      time.Time // by the clock of Redis
	Tally         Tally
}

// MaxSources bounds the sources of a subscriber.
const MaxSources = 64

// sourcePattern is the form of [Source].ID.
var sourcePattern = regexp.MustCompile(`^[A-Za-z0-9]{16,64}$`)

// sourceID returns the name of a subscriber as a source of others, and makes it the first time.
func (s *store) sourceID(ctx context.Context, subscriber string) (string, error) {
	key, id := s.keys.subscriber(subscriber).record(), rand.Text()
	err := s.db.Retry(ctx, func() error { return s.db.HSetNX(ctx, key, "source", id).Err() })
	if err != nil {
		return "", err
	}
	return query(ctx, s.db, func() (string, error) { return s.db.HGet(ctx, key, "source").Result() })
}

// parseSource parses the text that the subscriber has of a source.
func parseSource(id, text string) (source Source, imported string) {
	epoch, rest, _ := strings.Cut(text, " ")
	commit, imported, _ := strings.Cut(rest, " ")
	return Source{ID: id, Epoch: parseInt(epoch), Commit: parseInt(commit)}, imported
}

// An importer imports a source into a subscriber.
type importer struct {
	totals
	settings string // of the subscriber, as read
	id       string
	source   Source
}

// errImportLost is the error for an import that can't go on.
var errImportLost = errors.New("the subscriber was reset, removed or created again, or nothing was read for too long: import it again")

// importLease is the time after the last cells for which an import can go on.
const importLease = 10 * time.Minute

func (i *importer) target() target { return target{subscriber: i.subscriber, imported: i.id} }

// args returns arguments of a script behind those that all of them have.
func (i *importer) args(more ...any) []any {
	return append([]any{i.subscriber, i.settings, i.epoch, i.id}, more...)
}

// begin begins the import. It reports false if the subscriber has this commit, or a later one.
func (i *importer) begin(ctx context.Context, fields []any) (bool, error) {
	args := i.args(importLease.Milliseconds(), i.source.ID, i.source.Epoch, i.source.Commit, MaxSources)
	reply, err := i.call(ctx, importScript, i.target(), append(args, fields...)...)
	return i.outcome(reply.Int(0), err)
}

// switchOver makes the import what reports have of the source. It reports false if they have this
// commit, or a later one.
func (i *importer) switchOver(ctx context.Context) (bool, error) {
	reply, err := i.call(ctx, importSwitchScript, i.target(), i.args(i.source.ID, i.source.Epoch, i.source.Commit)...)
	return i.outcome(reply.Int(0), err)
}

func (i *importer) outcome(answer int64, err error) (bool, error) {
	switch {
	case err != nil:
		return false, err
	case answer == 0:
		return false, errImportLost
	case answer == 3:
		return false, fmt.Errorf("it has %d sources, the maximum", MaxSources)
	}
	return answer == 1, nil
}

// add stores cells of a group, in batches.
func (i *importer) add(ctx context.Context, group, day string, moved int64, cells map[string]int64) error {
	at := i.target()
	at.more = []string{i.keys.subscriber(importName(i.subscriber, i.id)).totals(group)}
	for batch := range batches(slices.Sorted(maps.Keys(cells)), cellBatch-2, func(member string) int { return len(member) }) {
		args := i.args(importLease.Milliseconds(), group, day, moved)
		for _, member := range batch {
			args = append(args, cells[member], member)
		}
		reply, err := i.call(ctx, importCellsScript, at, args...)
		if err == nil && reply.Int(0) == 0 {
			err = errImportLost
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// giveUp ends the lease of the import, which is not completed, and deletes it.
func (i *importer) giveUp(ctx context.Context) error {
	ctx, cancel := atEnd(ctx, 5*time.Second)
	defer cancel()
	err := i.db.Retry(ctx, func() error { return i.db.HSet(ctx, i.keys.subscriber(i.subscriber).imports(), i.id, 0).Err() })
	return errors.Join(err, dropImport(ctx, i.totals, i.id))
}

// dropImport deletes an import that no report has, unless its lease has not ended.
func dropImport(ctx context.Context, t totals, id string) error {
	name := importName(t.subscriber, id)
	drop := func(last int, names ...string) error {
		_, err := t.call(ctx, importDropScript, target{subscriber: t.subscriber, more: names}, id, last)
		return err
	}
	if err := drop(0); err != nil { // from now on it gets no further groups
		return err
	}
	err := t.scanSet(ctx, t.keys.subscriber(name).groups(), func(group string) error { return drop(0, t.keys.subscriber(name).totals(group)) })
	if err != nil {
		return err
	}
	return drop(1, t.keys.subscriber(name).groups(), t.keys.subscriber(name).days(), t.keys.subscriber(name).record())
}

// imports returns the ids of all imports of a subscriber: those of its sources, and the leases of the
// others.
func imports(ctx context.Context, t totals) (sources []string, leases map[string]string, err error) {
	err = t.db.Retry(ctx, func() error {
		pipe := t.db.Pipeline()
		have, others := pipe.HGetAll(ctx, t.keys.subscriber(t.subscriber).sources()), pipe.HGetAll(ctx, t.keys.subscriber(t.subscriber).imports())
		_, err := pipe.Exec(ctx)
		sources, leases = nil, others.Val()
		for source, text := range have.Val() {
			_, id := parseSource(source, text)
			sources = append(sources, id)
		}
		return err
	})
	return sources, leases, err
}

// tidyImports expires days of the sources, and deletes the imports that no report has.
func tidyImports(ctx context.Context, t totals, oldest string) error {
	sources, leases, err := imports(ctx, t)
	if err != nil || len(sources)+len(leases) == 0 {
		return err
	}
	for _, id := range sources {
		if oldest == "" {
			break
		}
		if err := t.totals(importName(t.subscriber, id)).expireBefore(ctx, oldest); err != nil {
			return err
		}
	}
	now, err := t.now(ctx)
	for id, lease := range leases {
		if err == nil && parseInt(lease) <= now.UnixMilli() {
			err = dropImport(ctx, t, id)
		}
	}
	return err
}

// discardImports deletes all imports of a subscriber that was removed or reset.
func (f fileStore) discardImports(ctx context.Context, r removal) error {
	sources, leases, err := imports(ctx, f.totals(r.subscriber))
	if err != nil {
		return err
	}
	for _, id := range slices.AppendSeq(sources, maps.Keys(leases)) {
		name := importName(r.subscriber, id)
		err := f.scanSet(ctx, f.keys.subscriber(name).groups(), func(group string) error {
			return f.discard(ctx, r, target{more: []string{f.keys.subscriber(name).totals(group)}})
		})
		if err == nil {
			err = f.discard(ctx, r, target{more: []string{f.keys.subscriber(name).groups(), f.keys.subscriber(name).days(), f.keys.subscriber(name).record()}})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// A share is the part of the counts of a subscriber that its workers counted, or that was imported
// from one source.
type share struct {
	totals
	oldest string // day that is kept
	groups []groupInfo
	sealed map[string]map[string]int64
}

// newestDay returns the last day with counts, empty if there is none. Days of the future, which a wrong clock
// has written, are left out if there are others: a log may be a day ahead of UTC.
func newestDay(shares []share, now time.Time) string {
	tomorrow := now.UTC().AddDate(0, 0, 1).Format(time.DateOnly)
	past, future := "", ""
	for _, s := range shares {
		for _, g := range s.groups {
			parsed, ok := cuts.ParseGroup(g.name)
			switch {
			case !ok || parsed.Day < s.oldest:
			case parsed.Day > tomorrow:
				future = max(future, parsed.Day)
			default:
				past = max(past, parsed.Day)
			}
		}
	}
	return cmp.Or(past, future)
}

// addTo adds the cells that a selection wants.
func (s share) addTo(ctx context.Context, selection *cuts.Selection) error {
	for _, g := range s.groups {
		parsed, ok := cuts.ParseGroup(g.name)
		if !ok || parsed.Day < s.oldest || !selection.Wants(parsed) {
			continue
		}
		counts, err := s.counts(ctx, g.name, s.sealed[g.name])
		if err != nil {
			return err
		}
		selection.Add(parsed, counts, g.folded)
	}
	return nil
}

// shares reads the groups of the sources of a snapshot, and adds their tallies to the report.
func (t totals) shares(ctx context.Context, at snapshot, report *Report) (shares []share, err error) {
	for _, id := range slices.Sorted(maps.Keys(at.sources)) {
		source, imported := parseSource(id, at.sources[id])
		s := share{totals: t.totals(importName(t.subscriber, imported))}
		fields, err := t.subscriberFields(ctx, s.subscriber)
		if err != nil {
			return nil, err
		}
		at.imports[s.subscriber] = fields
		s.oldest = fields["oldest"]
		if s.groups, err = s.totals.groups(ctx, nil); err != nil {
			return nil, err
		}
		counted := parseSubscriber("", "", fields)
		source.Imported, source.Tally = counted.Created, counted.Tally
		report.Sources = append(report.Sources, source)
		report.Subscriber.add(counted)
		shares = append(shares, s)
	}
	return shares, nil
}

// add adds the lines and the databases of a source.
func (s *Subscriber) add(source Subscriber) {
	s.Tally.Add(source.Tally)
	s.Busy += source.Busy
	for _, b := range source.Builds {
		i, found := slices.BinarySearchFunc(s.Builds, b, func(a, b BuildShare) int { return strings.Compare(a.Build, b.Build) })
		if !found {
			s.Builds = slices.Insert(s.Builds, i, BuildShare{Build: b.Build})
		}
		s.Builds[i].Lines += b.Lines
	}
}

// sourceCounts sets the numbers of imported sources of subscribers, and of their lines. If one is
// replaced meanwhile, it reads once more; a source that is gone then has no lines.
func (s *store) sourceCounts(ctx context.Context, subscribers []Subscriber) error {
	if len(subscribers) == 0 {
		return nil
	}
	var replaced bool
	read := func() (err error) { replaced, err = s.readSources(ctx, subscribers); return err }
	err := s.db.Retry(ctx, read)
	if err == nil && replaced {
		err = s.db.Retry(ctx, read)
	}
	return err
}

// readSources sets these numbers, and reports whether it has found no lines of a source.
func (s *store) readSources(ctx context.Context, subscribers []Subscriber) (replaced bool, err error) {
	pipe := s.db.Pipeline()
	sources := make([]*redis.MapStringStringCmd, len(subscribers))
	for i, subscriber := range subscribers {
		sources[i] = pipe.HGetAll(ctx, s.keys.subscriber(subscriber.Name).sources())
	}
	if _, err := pipe.Exec(ctx); err != nil {
		return false, err
	}
	lines := make([][]*redis.StringCmd, len(subscribers))
	for i, subscriber := range subscribers {
		for id, text := range sources[i].Val() {
			_, imported := parseSource(id, text)
			lines[i] = append(lines[i], pipe.HGet(ctx, s.keys.subscriber(importName(subscriber.Name, imported)).record(), "lines"))
		}
	}
	_, _ = pipe.Exec(ctx) // each command has its own error; it does nothing if there are none
	for i := range subscribers {
		subscribers[i].Sources, subscribers[i].ImportedLines = int64(len(lines[i])), 0
		for _, line := range lines[i] {
			switch err := line.Err(); {
			case errors.Is(err, redis.Nil):
				replaced = true
			case err != nil:
				return false, err
			}
			subscribers[i].ImportedLines += parseInt(line.Val())
		}
	}
	return replaced, nil
}

// sums are the fields of a subscriber with numbers that an export has.
var sums = []string{
	"lines", "counted", "unknown", "filtered", "expired", "unparsable", "private", "crawlers", "bytes", "files", "partial", "failed", "busy",
}

// maxNumber is the highest number up to which sums are exact.
const maxNumber = 1 << 53
