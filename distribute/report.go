package distribute

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// ReportOptions narrow a report. The zero value reports everything.
type ReportOptions struct {
	// From and To are the first and the last group, inclusive, as they are
	// written ("2026-11-01"); empty: no bound.
	From, To string
}

// A Row is one number of a report.
type Row struct {
	Group, Member string // "2026-11-01", "US"
	Requests      int64
}

// A Report is what a subscriber has counted.
type Report struct {
	Subscriber Subscriber
	Rows       []Row     // by group, then member; see TopRows
	Problems   []Problem // files that were counted in part or not at all
	Abandoned  []string  // files whose upload was given up and that were not shipped again
	Moving     bool      // counting went on meanwhile: the days are not all of the same moment
}

// A Problem is what a subscriber found wrong with a file.
type Problem struct {
	File, Note string
	Missing    bool // some or all of its lines are not in the counts
}

// TopRows keeps the n highest rows of each group, highest first; zero keeps all.
// The rows are those of a Report and stay as they are.
func TopRows(rows []Row, n int) []Row {
	if n == 0 {
		return rows
	}
	rows = slices.Clone(rows)
	slices.SortFunc(rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(b.Requests, a.Requests), cmp.Compare(a.Member, b.Member))
	})
	group, taken := "", 0
	return slices.DeleteFunc(rows, func(r Row) bool {
		if r.Group != group {
			group, taken = r.Group, 0
		}
		taken++
		return taken > n
	})
}

// Report reads a subscriber's counts. Each group is of one moment; unless Moving
// is set, all of them are. Counts that dead workers left unfolded are folded
// first.
func (c *Channel) Report(ctx context.Context, subscriber string, options ReportOptions) (Report, error) {
	report, err := c.report(ctx, subscriber, options)
	if err != nil {
		return Report{}, fmt.Errorf("report of channel %q, subscriber %q: %w", c.name, subscriber, err)
	}
	return report, nil
}

// reportTries is how often a report starts over because counting went on.
const reportTries = 5

func (c *Channel) report(ctx context.Context, subscriber string, options ReportOptions) (Report, error) {
	settings, err := c.hasSubscriber(ctx, subscriber)
	if err != nil {
		return Report{}, err
	}
	if err := c.foldAll(ctx, subscriber); err != nil {
		return Report{}, err
	}
	var report Report
	for try := range reportTries {
		before, err := c.subscriberFields(ctx, subscriber)
		if err != nil {
			return Report{}, err
		}
		rows, err := c.rows(ctx, subscriber, options)
		if err != nil {
			return Report{}, err
		}
		after, err := c.subscriberFields(ctx, subscriber)
		if err != nil {
			return Report{}, err
		}
		report = Report{Subscriber: parseSubscriber(subscriber, settings, after), Rows: rows}
		report.Moving = before["version"] != after["version"]
		if !report.Moving || try == reportTries-1 {
			break
		}
	}
	if report.Problems, err = c.problems(ctx, subscriber); err != nil {
		return Report{}, err
	}
	report.Abandoned, err = c.abandonedNames(ctx)
	return report, err
}

// rows reads the totals and what is sealed but not folded, group by group, each
// in one transaction: so a group is never read in the middle of a fold.
func (c *Channel) rows(ctx context.Context, subscriber string, options ReportOptions) ([]Row, error) {
	shipments, err := c.sealed(ctx, subscriber)
	if err != nil {
		return nil, err
	}
	groups, err := c.groupNames(ctx, subscriber, shipments)
	if err != nil {
		return nil, err
	}
	var rows []Row
	for _, group := range groups {
		if options.From != "" && group < options.From || options.To != "" && group > options.To {
			continue
		}
		counts, err := c.groupCounts(ctx, subscriber, group, shipments)
		if err != nil {
			return nil, err
		}
		rows = append(rows, groupRows(group, counts)...)
	}
	return rows, nil
}

func (c *Channel) groupNames(ctx context.Context, subscriber string, shipments []string) ([]string, error) {
	var names []string
	err := c.scanSet(ctx, c.keys.groups(subscriber), func(group string) error {
		names = append(names, group)
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, shipment := range shipments {
		cells, err := ask(ctx, c.db, func() ([]string, error) { return c.db.HKeys(ctx, c.keys.sealedCells(subscriber, shipment)).Result() })
		if err != nil {
			return nil, err
		}
		for _, cell := range cells {
			group, _, _ := strings.Cut(cell, "\t")
			names = append(names, group)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (c *Channel) groupCounts(ctx context.Context, subscriber, group string, shipments []string) (map[string]int64, error) {
	counts := map[string]int64{}
	err := c.db.Retry(ctx, func() error {
		clear(counts)
		pipe := c.db.TxPipeline()
		totals := pipe.ZRangeWithScores(ctx, c.keys.totals(subscriber, group), 0, -1)
		sealed := make([]*redis.MapStringStringCmd, len(shipments))
		for i, shipment := range shipments {
			sealed[i] = pipe.HGetAll(ctx, c.keys.sealedCells(subscriber, shipment))
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return err
		}
		for _, z := range totals.Val() {
			member, _ := z.Member.(string)
			counts[member] += int64(z.Score)
		}
		for _, cells := range sealed {
			for cell, n := range cells.Val() {
				if g, member, _ := strings.Cut(cell, "\t"); g == group {
					counts[member] += parseInt(n)
				}
			}
		}
		return nil
	})
	return counts, err
}

func groupRows(group string, counts map[string]int64) []Row {
	rows := make([]Row, 0, len(counts))
	for member, n := range counts {
		if n != 0 {
			rows = append(rows, Row{group, member, n})
		}
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Member, b.Member) })
	return rows
}

// maxProblems is how many files a report complains about.
const maxProblems = 1000

// problems lists files that a subscriber has a complaint about.
func (c *Channel) problems(ctx context.Context, subscriber string) ([]Problem, error) {
	ids, err := ask(ctx, c.db, func() ([]string, error) {
		return c.db.SRandMemberN(ctx, c.keys.problems(subscriber), maxProblems).Result()
	})
	if err != nil {
		return nil, err
	}
	var list []Problem
	for _, id := range ids {
		r, err := c.record(ctx, id)
		if err != nil {
			return nil, err
		}
		if at := r.counted[subscriber]; at.note != "" {
			list = append(list, Problem{r.name, at.note, at.missing})
		}
	}
	slices.SortFunc(list, func(a, b Problem) int { return cmp.Compare(a.File, b.File) })
	return list, nil
}
