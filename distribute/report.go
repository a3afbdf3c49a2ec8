package distribute

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"skidway/distribute/cuts"
)

// A Report holds the counts of a subscriber.
type Report struct {
	Subscriber Subscriber
	Settings   cuts.Settings // of the counts, if they are those of a [Counting]

	// Tables has one table for each cut, or for each one of the query. The counts of another
	// aggregation than [Counting] are one table, by group and member.
	Tables []cuts.Table

	// VisitorsFrom is the first day with visitors by country, because those before it were too
	// many, see [MaxSketches]; empty: all days have them.
	VisitorsFrom string

	// Sources are those that were imported. Subscriber and Tables have their numbers, too, but for
	// visitors.
	Sources []Source

	Problems  []Problem // files that were counted in part or not at all
	Abandoned []string  // files whose upload was abandoned and that were not shipped again
	Moving    bool      // the counts could not be held for as long as the report took: they are of different times
	Uncounted bool      // no worker has committed a file for the subscriber yet
}

// A Problem is what is wrong with a file, for one subscriber.
type Problem struct {
	File   string
	Kind   ProblemKind
	Detail string // the error, or the place of the lines, as the worker recorded it
}

// A ProblemKind is how a [Problem] affects the counts.
type ProblemKind string

// Kinds of problems.
const (
	NotCounted    ProblemKind = "not-counted"     // no line of the file is in the counts
	CountedInPart ProblemKind = "counted-in-part" // some of its lines are not in the counts
	LinesTooLong  ProblemKind = "lines-too-long"  // lines beyond [stream.MaxLine] count as unparsable
)

// Missing reports whether lines of the file are not in the counts.
func (p Problem) Missing() bool { return p.Kind != LinesTooLong }

// Report reads a subscriber's counts. Unless Moving is set, they are of one moment: the
// report has all of a commit or nothing of it. Counts that dead workers left sealed are
// folded first. A nil query reports everything. For another aggregation than [Counting], From
// and To are bounds of the groups. The error is a [cuts.QueryError] if the query does not fit
// what was counted.
func (c *Channel) Report(ctx context.Context, subscriber string, query *cuts.Query) (Report, error) {
	report, err := c.report(ctx, subscriber, query)
	if err != nil {
		return Report{}, fmt.Errorf("report of channel %q, subscriber %q: %w", c.name, subscriber, err)
	}
	return report, nil
}

// reportHold is the time for which a report keeps commits from being folded, at its
// first try; each further try takes twice as long. reportTries bounds the tries.
const (
	reportHold  = 5 * time.Second
	reportTries = 5
)

func (c *Channel) report(ctx context.Context, subscriber string, query *cuts.Query) (Report, error) {
	totals := c.totals(subscriber)
	if err := totals.tidy(ctx); err != nil {
		return Report{}, err
	}
	report := Report{Moving: true}
	for try := 0; report.Moving && try < reportTries; try++ {
		at, err := totals.snapshot(ctx, reportHold<<try)
		if errors.Is(err, errReset) { // since it was looked for
			if err := totals.tidy(ctx); err != nil {
				return Report{}, err
			}
			continue
		}
		if err != nil {
			return Report{}, err
		}
		report.Sources = nil
		report.Subscriber = parseSubscriber(subscriber, at.settings, at.fields)
		if err := totals.read(ctx, at, query, &report); err != nil {
			return Report{}, err
		}
		if report.Moving, err = totals.release(ctx, at); err != nil {
			return Report{}, err
		}
		report.Uncounted = at.fields["version"] == "" && len(at.sources) == 0 // each commit increments it
	}
	var err error
	if report.Problems, err = c.problems(ctx, subscriber); err != nil {
		return Report{}, err
	}
	report.Abandoned, err = c.files.abandonedNames(ctx)
	return report, err
}

// maxProblems bounds the files with a problem that a report lists.
const maxProblems = 1000

// problems lists the files with a note for the subscriber.
func (c *Channel) problems(ctx context.Context, subscriber string) ([]Problem, error) {
	ids, err := query(ctx, c.db, func() ([]string, error) {
		return c.db.SRandMemberN(ctx, c.keys.subscriber(subscriber).problems(), maxProblems).Result()
	})
	if err != nil {
		return nil, err
	}
	var list []Problem
	for _, id := range ids {
		r, err := c.files.record(ctx, id)
		if err != nil {
			return nil, err
		}
		if problem := r.counted[subscriber].problem(r.name); problem != nil {
			list = append(list, *problem)
		}
	}
	slices.SortFunc(list, func(a, b Problem) int { return cmp.Compare(a.File, b.File) })
	return list, nil
}
