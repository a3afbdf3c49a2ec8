package ops

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/dustin/go-humanize"

	"skidway"
	"skidway/distribute"
	"skidway/distribute/cuts"
	"skidway/distribute/geo"
	"skidway/internal/doctor"
	"skidway/internal/handle"
	"skidway/queue"
)

// A Finding is the result of a check of a Redis.
type Finding struct {
	Topic  string   // "version", "eviction", …
	Server string   // of a Cluster; empty if there is only one
	Rank   Rank     // [Unknown] if the user may not read the facts
	Found  string   // the state, in words
	Why    string   // what can happen; empty if all is well
	Change []string // lines for redis-cli, redis.conf or an ACL file that correct it
}

// Examine checks a Redis and the queues and log channels in it. It changes nothing.
func Examine(ctx context.Context, db *skidway.DB) ([]Finding, error) {
	return examine(ctx, db, queueFindings)
}

// Examine is [Examine] with the latest figures of the sampler in place of reading all queues.
func (s *Sampler) Examine(ctx context.Context) ([]Finding, error) {
	return examine(ctx, s.client.queues.DB(), func(ctx context.Context, db *skidway.DB) ([]Finding, error) {
		latest, _ := s.Overview(ctx)
		switch {
		case latest.Away != nil:
			return nil, latest.Away
		case latest.Now.IsZero(): // nothing has been read yet
			return nil, context.DeadlineExceeded
		}
		var read []QueueStatus
		for _, q := range latest.Queues {
			if !q.Time.IsZero() || q.Err != nil {
				read = append(read, q.QueueStatus)
			}
		}
		return statusFindings(db, read, latest.Names), nil
	})
}

// examine checks a Redis, by a function the queues in it, and the log channels.
func examine(ctx context.Context, db *skidway.DB, queues func(context.Context, *skidway.DB) ([]Finding, error)) ([]Finding, error) {
	conn := handle.Conn(db)
	checked, err := doctor.Check(ctx, conn)
	if err != nil {
		return nil, err
	}
	var findings []Finding
	for _, f := range checked {
		findings = append(findings, findingOf(f))
	}
	if conn.Embedded() {
		return findings, nil
	}
	for _, examine := range []func(context.Context, *skidway.DB) ([]Finding, error){queues, channelFindings, subscriberFindings, countryFindings, cellFindings} {
		found, err := examine(ctx, db)
		if err != nil {
			return nil, err
		}
		findings = append(findings, found...)
	}
	return findings, nil
}

func findingOf(f doctor.Finding) Finding {
	return Finding{Topic: f.Topic, Server: f.Server, Rank: Rank(f.Level), Found: f.Found, Why: f.Why, Change: f.Change}
}

// queueFindings checks the queues in a Redis.
func queueFindings(ctx context.Context, db *skidway.DB) ([]Finding, error) {
	queues, err := queue.NewClient(db, nil)
	if err != nil {
		return nil, err
	}
	client, err := NewClient(queues, nil)
	if err != nil {
		return nil, err
	}
	statuses, err := client.Statuses(ctx, nil)
	if err != nil {
		if unreachable(err) {
			return nil, err
		}
		return []Finding{{Topic: "queues", Rank: Unknown, Found: "could not look: " + err.Error()}}, nil
	}
	return statusFindings(db, statuses, len(statuses)), nil
}

// statusFindings returns what is wrong with queues. all is the number of queues that there are, of
// which not all may have been read.
func statusFindings(db *skidway.DB, statuses []QueueStatus, all int) (findings []Finding) {
	jobs := 0
	for _, status := range statuses {
		jobs += Jobs(status.Depth)
		if status.Err == nil {
			continue
		}
		finding := Finding{
			Topic: "queues", Rank: Problem, Found: fmt.Sprintf("queue %s can't be read: %v", status.Name, status.Err),
			Why: "this release can neither add nor run its jobs",
		}
		var format *queue.FormatError
		switch {
		case !errors.As(status.Err, &format):
		case format.Older:
			finding.Change = []string{
				"run a worker of the release that wrote it until the queue is empty",
				fmt.Sprintf("redis-cli --scan --pattern '%s:{%s:*}:*' | xargs redis-cli UNLINK", db.Prefix(), status.Name),
			}
		default:
			finding.Change = []string{"upgrade skidway on this machine"}
		}
		findings = append(findings, finding)
	}
	read := ""
	if len(statuses) < all {
		read = fmt.Sprintf("%d of ", len(statuses))
	}
	return append(findings, Finding{
		Topic: "queues", Rank: Fine,
		Found: fmt.Sprintf("%s%s with %s in all, in keys that start with %s:", read, Plural(all, "queue"), Plural(jobs, "job"), db.Prefix()),
	})
}

// channelFindings compares the windows of log channels with the memory of Redis.
func channelFindings(ctx context.Context, db *skidway.DB) ([]Finding, error) {
	err := distribute.CheckMemory(ctx, db)
	var tight *distribute.MemoryError
	switch {
	case errors.As(err, &tight):
		return []Finding{{
			Topic: "channels", Rank: Warning, Found: tight.Error(),
			Why: "workers still count and free files then, but nothing is shipped or enqueued until they have",
			Change: []string{
				"skidway logs ship PATH --channel CHANNEL --window SIZE",
				fmt.Sprintf("redis-cli CONFIG SET maxmemory %dmb", (tight.Used+tight.Left)>>20+1),
			},
		}}, nil
	case err != nil && unreachable(err):
		return nil, err
	case err != nil:
		return []Finding{{Topic: "channels", Rank: Unknown, Found: "could not look: " + err.Error()}}, nil
	}
	return []Finding{{Topic: "channels", Rank: Fine, Found: "the windows of log channels fit into the memory of Redis"}}, nil
}

// subscriberFindings finds subscribers of log channels that hold up files and have no
// worker.
func subscriberFindings(ctx context.Context, db *skidway.DB) ([]Finding, error) {
	const topic = "subscribers"
	statuses, err := channelStatuses(ctx, db, func(c distribute.ChannelInfo) bool { return c.Open > 0 })
	var findings []Finding
	for name, status := range statuses {
		for _, l := range status.Laggards() {
			if l.Gone() {
				findings = append(findings, Finding{
					Topic: topic, Rank: Warning, Found: fmt.Sprintf("channel %s, %s", name, l),
					Why: "these files are not freed, so shipping stops when the window is full",
					Change: []string{
						fmt.Sprintf("skidway logs work --channel %s --subscriber %s", name, l.Subscriber),
						fmt.Sprintf("skidway logs unsubscribe --channel %s --subscriber %s", name, l.Subscriber),
					},
				})
			}
		}
	}
	slices.SortFunc(findings, func(a, b Finding) int { return strings.Compare(a.Found, b.Found) })
	switch {
	case err != nil && unreachable(err):
		return nil, err
	case err != nil:
		findings = append(findings, Finding{Topic: topic, Rank: Unknown, Found: "could not look: " + err.Error()})
	case len(findings) == 0:
		findings = append(findings, Finding{Topic: topic, Rank: Fine, Found: "no file in a log channel waits for a subscriber without a worker"})
	}
	return findings, nil
}

var embeddedCountries = sync.OnceValues(func() (geo.Description, error) { return geo.Describe("") })

// countryFindings checks the country databases: the embedded one, and those with which subscribers
// have counted.
func countryFindings(ctx context.Context, db *skidway.DB) ([]Finding, error) {
	const topic = "countries"
	embedded, err := embeddedCountries()
	if err != nil {
		return nil, err
	}
	now := time.Now()
	newer := []string{"skidway geoip info FILE.mmdb", "skidway logs count --geoip FILE.mmdb PATH"}
	var findings []Finding
	warn := func(found, why string, change []string) {
		findings = append(findings, Finding{Topic: topic, Rank: Warning, Found: found, Why: why, Change: change})
	}
	for _, warning := range embedded.Warnings(now) {
		warn("the embedded country database "+warning, "some requests count for another country", newer)
	}
	statuses, err := channelStatuses(ctx, db, func(distribute.ChannelInfo) bool { return true })
	switch {
	case err != nil && unreachable(err):
		return nil, err
	case err != nil:
		findings = append(findings, Finding{Topic: topic, Rank: Unknown, Found: "could not look: " + err.Error()})
	}
	for _, name := range slices.Sorted(maps.Keys(statuses)) {
		for _, s := range statuses[name].Subscribers {
			if settings, ok := cuts.ParseSettings(s.Settings); !ok || !settings.UsePlaces() {
				continue
			}
			counted := fmt.Sprintf("channel %s, subscriber %s: ", name, s.Name)
			for _, build := range s.Builds {
				for _, warning := range buildWarnings(build.Build, embedded.Build, now) {
					warn(counted+"country database "+warning, "some requests count for another country", newer)
				}
			}
			if warning := s.UnknownWarning(); warning != "" {
				warn(counted+warning, "their requests count for ZZ", newer)
			}
		}
	}
	if len(findings) > 0 {
		return findings, nil
	}
	return []Finding{{Topic: topic, Rank: Fine, Found: fmt.Sprintf("the embedded country database is %s; no count has an odd share of unknown addresses", embedded.Build)}}, nil
}

// buildWarnings returns what is odd about the databases with which lines were counted, but for the
// embedded one.
func buildWarnings(text string, embedded geo.Build, now time.Time) (warnings []string) {
	for _, build := range geo.ParseBuilds(text) {
		if build.String() != embedded.String() {
			warnings = append(warnings, build.Warnings(now)...)
		}
	}
	return warnings
}

// manyBytes is the memory of the counts of a subscriber from which doctor warns.
const manyBytes = 256 << 20

// cellFindings names the subscribers whose counts need much memory, or the one whose counts need most.
func cellFindings(ctx context.Context, db *skidway.DB) ([]Finding, error) {
	const topic = "counts"
	statuses, err := channelStatuses(ctx, db, func(distribute.ChannelInfo) bool { return true })
	var findings []Finding
	most, largest := int64(0), ""
	for _, name := range slices.Sorted(maps.Keys(statuses)) {
		for _, s := range statuses[name].Subscribers {
			use, found, useErr := cellUse(ctx, db, name, s.Name)
			switch {
			case useErr != nil:
				err = errors.Join(err, useErr)
			case use.Bytes >= manyBytes:
				findings = append(findings, Finding{
					Topic: topic, Rank: Warning, Found: found, Why: "they stay in the memory of Redis as long as the subscriber, or the days that it keeps",
					Change: []string{
						fmt.Sprintf("skidway logs work --channel %s --subscriber NEW --keep 90d --max-cells 10000", name),
						fmt.Sprintf("skidway logs unsubscribe --channel %s --subscriber %s --yes", name, s.Name),
					},
				})
			case use.Cells > most:
				most, largest = use.Cells, found
			}
		}
	}
	switch {
	case err != nil && unreachable(err):
		return nil, err
	case err != nil:
		findings = append(findings, Finding{Topic: topic, Rank: Unknown, Found: "could not look: " + err.Error()})
	case len(findings) == 0 && most > 0:
		findings = []Finding{{Topic: topic, Rank: Fine, Found: "the most cells: " + largest}}
	}
	return findings, nil
}

// cellUse returns what the counts of a subscriber need, also as text.
func cellUse(ctx context.Context, db *skidway.DB, name, subscriber string) (use distribute.CellUse, found string, err error) {
	channel, err := distribute.OpenExisting(ctx, db, name)
	if err == nil {
		use, err = channel.CellUse(ctx, subscriber)
	}
	return use, fmt.Sprintf("channel %s, subscriber %s: %d days × at most %s cells of a day and cut, in all %s cells, at most about %s",
		name, subscriber, use.Days, humanize.Comma(use.Largest), humanize.Comma(use.Cells), humanize.IBytes(uint64(max(use.Bytes, 0)))), err
}

// maxChannels is the number of log channels whose statuses are read, those that were used last.
const maxChannels = 100

// channelStatuses returns the statuses of the log channels that a function selects, by name, also
// if there is an error.
func channelStatuses(ctx context.Context, db *skidway.DB, selected func(distribute.ChannelInfo) bool) (map[string]distribute.Status, error) {
	channels, err := distribute.Channels(ctx, db)
	channels = slices.DeleteFunc(channels, func(c distribute.ChannelInfo) bool { return !selected(c) })
	slices.SortFunc(channels, func(a, b distribute.ChannelInfo) int { return b.Used.Compare(a.Used) })
	statuses := map[string]distribute.Status{}
	for _, c := range channels[:min(maxChannels, len(channels))] {
		channel, err := distribute.OpenExisting(ctx, db, c.Name)
		if err == nil {
			statuses[c.Name], err = channel.Status(ctx)
		}
		if err != nil {
			return statuses, err
		}
	}
	return statuses, err
}
