package distribute

import (
	"context"
	"crypto/rand"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/cuts"
	"skidway/internal/rdb"
)

// A snapshot is what a subscriber had counted at one moment.
type snapshot struct {
	token    string // of the report
	settings string
	fields   map[string]string // of the subscriber
	commits  []string          // that had sealed cells
	sources  map[string]string // that were imported

	imports map[string]map[string]string // fields of the imports that were read, by name
}

// snapshot begins a report, and returns ErrNoSubscriber if there is no such subscriber, and errReset
// while its reset is not complete.
// For this time, or until release, no cells are folded.
func (t totals) snapshot(ctx context.Context, hold time.Duration) (snapshot, error) {
	at := snapshot{token: rand.Text(), imports: map[string]map[string]string{}}
	reply, err := t.call(ctx, snapshotScript, target{subscriber: t.subscriber}, t.subscriber, at.token, hold.Milliseconds())
	if err == nil && reply.Len() == 0 {
		err = ErrNoSubscriber
	}
	if err != nil {
		return at, err
	}
	if reply.Len() == 1 {
		return at, errReset
	}
	at.settings, at.commits = reply.Text(0), reply.List(2).Texts()
	at.fields, at.sources = pairsOf(reply.List(1)), pairsOf(reply.List(3))
	return at, nil
}

// pairsOf returns the fields of a hash.
func pairsOf(list rdb.Reply) map[string]string {
	fields := map[string]string{}
	for i := 0; i+1 < list.Len(); i += 2 {
		fields[list.Text(i)] = list.Text(i + 1)
	}
	return fields
}

// release ends a report, and reports whether cells were folded, or other imports replaced those that
// were read, since its snapshot.
func (t totals) release(ctx context.Context, at snapshot) (folded bool, err error) {
	err = t.db.Retry(ctx, func() error {
		pipe := t.db.Pipeline()
		before := maps.Clone(at.imports)
		before[t.subscriber] = at.fields
		now := map[string]*redis.SliceCmd{}
		for name := range before {
			now[name] = pipe.HMGet(ctx, t.keys.subscriber(name).record(), "v", "folds")
		}
		pipe.ZRem(ctx, t.own.readers(), at.token)
		_, err := pipe.Exec(ctx)
		if err != nil {
			return err
		}
		folded = false
		for name, fields := range before {
			version, _ := now[name].Val()[0].(string)
			folds, _ := now[name].Val()[1].(string)
			folded = folded || version != fields["v"] || folds != fields["folds"]
		}
		return nil
	})
	return folded, err
}

// A group is what is known of the groups of a subscriber before their cells are read.
type groupInfo struct {
	name   string
	folded int64 // cells that were moved into others
}

// read reads the totals and the sealed cells of a snapshot, as far as the query asks for them.
func (t totals) read(ctx context.Context, at snapshot, query *cuts.Query, report *Report) error {
	sealed, sketches, err := t.sealedCells(ctx, at.commits)
	if err != nil {
		return err
	}
	groups, err := t.groups(ctx, sealed)
	if err != nil {
		return err
	}
	oldest := at.fields["oldest"]
	for member, n := range sealed[cuts.AccountGroup] { // of days that expired since they were sealed
		if day, account := (Cell{cuts.AccountGroup, member, n}).account(); day < oldest {
			report.Subscriber.Tally.Add(expiry(account))
		}
	}
	if at.settings == "" && len(groups) == 0 { // no worker has come yet
		report.Tables, err = emptyTables(query)
		return err
	}
	settings, ok := cuts.ParseSettings(at.settings)
	if !ok {
		table, err := t.readRows(ctx, groups, sealed, query)
		report.Tables = []cuts.Table{table}
		return err
	}
	if err := t.moveSealed(ctx, settings, groups, sealed); err != nil {
		return err
	}
	shares, err := t.shares(ctx, at, report)
	if err != nil {
		return err
	}
	shares = append(shares, share{t, oldest, groups, sealed})
	now, err := t.now(ctx)
	if err != nil {
		return err
	}
	selection, err := query.Select(settings, newestDay(shares, now))
	if err != nil {
		return err
	}
	if settings.Visitors != nil {
		if err := t.readVisitors(ctx, selection, oldest, sketches); err != nil {
			return err
		}
		report.VisitorsFrom = at.fields["countries"]
	}
	for _, s := range shares {
		if err := s.addTo(ctx, selection); err != nil {
			return err
		}
	}
	report.Settings, report.Tables = settings, selection.Tables()
	return nil
}

// emptyTables returns the tables of a query of a subscriber whose settings are not known yet.
func emptyTables(query *cuts.Query) ([]cuts.Table, error) {
	settings, err := newSettings(&CountingConfig{})
	if err != nil {
		return nil, err
	}
	var asked cuts.Query
	if query != nil {
		asked.By = query.By
	}
	for _, names := range asked.By {
		cut, err := cuts.ParseCut(names)
		if err != nil {
			return nil, &cuts.QueryError{Reason: err.Error()}
		}
		settings.Cuts = append(settings.Cuts, cut)
	}
	selection, err := asked.Select(settings, "")
	if err != nil {
		return nil, err
	}
	return selection.Tables(), nil
}

// readRows reads the table of an aggregation that does not count cuts.
func (t totals) readRows(ctx context.Context, groups []groupInfo, sealed map[string]map[string]int64, query *cuts.Query) (cuts.Table, error) {
	table := cuts.Table{By: []string{"group", "member"}, Names: []string{"group", "member"}, Measures: []cuts.Measure{cuts.Requests}}
	for _, g := range groups {
		if query != nil && (query.From != "" && g.name < query.From || query.To != "" && g.name > query.To) {
			continue
		}
		counts, err := t.counts(ctx, g.name, sealed[g.name])
		if err != nil {
			return table, err
		}
		for _, member := range slices.Sorted(maps.Keys(counts)) {
			if n := counts[member]; n != 0 {
				table.Rows = append(table.Rows, cuts.Row{Values: []string{g.name, member}, Counts: cuts.Counts{Requests: n}})
				table.Total.Requests += n
			}
		}
	}
	return table, nil
}

// sealedCells reads the sealed cells of commits, by group, and their sketches of visitors.
func (t totals) sealedCells(ctx context.Context, commits []string) (groups map[string]map[string]int64, sketches []sealedSketch, err error) {
	groups = map[string]map[string]int64{}
	for _, commit := range commits {
		cells := map[string]string{} // a scan may return a cell twice
		for cursor := uint64(0); ; {
			var pairs []string
			err := t.db.Retry(ctx, func() (err error) {
				pairs, cursor, err = t.db.HScan(ctx, t.own.sealedCells(commit), cursor, "", cellBatch).Result()
				return err
			})
			if err != nil {
				return nil, nil, err
			}
			for i := 0; i+1 < len(pairs); i += 2 {
				cells[pairs[i]] = pairs[i+1]
			}
			if cursor == 0 {
				break
			}
		}
		for cell, n := range cells {
			group, member, _ := strings.Cut(cell, "\t")
			if day, country, ok := parseVisitors(group, member); ok {
				sketches = append(sketches, sealedSketch{day, country, n})
				continue
			}
			if groups[group] == nil {
				groups[group] = map[string]int64{}
			}
			groups[group][member] += parseInt(n)
		}
	}
	return groups, sketches, nil
}

// groups returns all groups in the totals and in sealed cells, sorted by name.
func (t totals) groups(ctx context.Context, sealed map[string]map[string]int64) ([]groupInfo, error) {
	folded := map[string]int64{}
	for group := range sealed {
		folded[group] = 0
	}
	for cursor := uint64(0); ; {
		var pairs []string
		err := t.db.Retry(ctx, func() (err error) {
			pairs, cursor, err = t.db.ZScan(ctx, t.own.groups(), cursor, "", cellBatch).Result()
			return err
		})
		if err != nil {
			return nil, err
		}
		for i := 0; i+1 < len(pairs); i += 2 {
			folded[pairs[i]] = parseInt(pairs[i+1])
		}
		if cursor == 0 {
			break
		}
	}
	var list []groupInfo
	for _, name := range slices.Sorted(maps.Keys(folded)) {
		list = append(list, groupInfo{name, folded[name]})
	}
	return list, nil
}

// counts reads the numbers of one group, by member: its totals, in pages, and its sealed cells.
func (t totals) counts(ctx context.Context, group string, sealed map[string]int64) (map[string]int64, error) {
	counts := maps.Clone(sealed)
	if counts == nil {
		counts = map[string]int64{}
	}
	for start := int64(0); ; start += countPage {
		page, err := query(ctx, t.db, func() ([]redis.Z, error) {
			return t.db.ZRangeWithScores(ctx, t.own.totals(group), start, start+countPage-1).Result()
		})
		if err != nil {
			return nil, err
		}
		for _, z := range page {
			member, _ := z.Member.(string)
			counts[member] += int64(z.Score)
		}
		if len(page) < countPage {
			return counts, nil
		}
	}
}

// countPage is the number of cells that a report reads with one command.
const countPage = 1000
