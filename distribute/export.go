package distribute

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/cuts"
)

// An export is lines of JSON: one exportHead, then for each group one or more exportCells, those of
// the accounts first, else in the order of their names, and one exportEnd. The members of a group are
// in order, too.
const (
	exportFormat  = "skidway-counts"
	exportVersion = 1
)

// An exportHead is the first line of an export.
type exportHead struct {
	Format   string           `json:"format"`
	Version  int              `json:"version"`
	Source   string           `json:"source"`
	Epoch    int64            `json:"epoch"`
	Commit   int64            `json:"commit"`
	Settings string           `json:"settings"`
	Oldest   string           `json:"oldest,omitempty"` // day that is kept
	Sums     map[string]int64 `json:"sums"`
	Builds   map[string]int64 `json:"builds,omitempty"` // lines by country database
}

// An exportCells has cells of one group; moved is how many of the group were moved into others.
type exportCells struct {
	Group string           `json:"group"`
	Moved int64            `json:"moved,omitempty"`
	Cells map[string]int64 `json:"cells"`
}

// An exportEnd is the last line, without which an export is not whole.
type exportEnd struct {
	End   bool  `json:"end"`
	Cells int64 `json:"cells"` // of all groups
}

// exportHold is the time for which an export keeps commits from being folded; it renews it between two
// groups.
const exportHold = time.Minute

// An Exported describes an export that was written.
type Exported struct {
	Source
	Cells int64
}

// ErrMoving is the error for an export whose counts could not be held for as long as it took.
var ErrMoving = errors.New("the counts changed while they were written: the export is not whole, and no import takes it: export again")

// ErrNotExported is the error for counts of another aggregation than [Counting].
var ErrNotExported = errors.New("only counts by dimensions can be exported")

// Export writes what the workers of a subscriber have counted, as of one commit, for [Channel.Import].
// It has the cells of all cuts, the numbers of lines and the settings, but no visitors, no list of
// files, and nothing of imported sources. Cells are read in pages, and those of one day, cut and series
// are in memory at once.
func (c *Channel) Export(ctx context.Context, subscriber string, out io.Writer) (Exported, error) {
	e := exporter{totals: c.totals(subscriber), out: bufio.NewWriter(out)}
	exported, err := e.export(ctx)
	if err != nil {
		return exported, fmt.Errorf("export subscriber %q of channel %q: %w", subscriber, c.name, err)
	}
	return exported, nil
}

func (e *exporter) export(ctx context.Context) (exported Exported, err error) {
	for try := 0; ; try++ { // nothing is written yet
		ready, err := e.begin(ctx)
		if err != nil {
			return exported, err
		}
		if ready {
			break
		}
		if try == reportTries {
			return exported, ErrMoving
		}
		if _, err := e.release(ctx, e.at); err != nil {
			return exported, err
		}
	}
	exported.Source = Source{ID: e.head.Source, Epoch: e.head.Epoch, Commit: e.head.Commit, Tally: e.tally}
	err = e.write(ctx)
	moved, releaseErr := e.release(ctx, e.at)
	switch {
	case err != nil || releaseErr != nil:
		return exported, errors.Join(err, releaseErr)
	case moved:
		return exported, ErrMoving
	}
	exported.Cells = e.cells
	return exported, errors.Join(e.line(exportEnd{true, e.cells}), e.out.Flush())
}

// An exporter writes one export.
type exporter struct {
	totals
	out      *bufio.Writer
	at       snapshot
	held     time.Time // when folding was last held off
	head     exportHead
	tally    Tally
	accounts map[string]int64
	groups   []groupInfo
	sealed   map[string]map[string]int64
	cells    int64 // written
}

// begin reads what the first lines need, at one moment. It reports false if days expired meanwhile, or
// a last line is still to be subtracted: then it is to be repeated.
func (e *exporter) begin(ctx context.Context) (ready bool, err error) {
	if err := e.tidy(ctx); err != nil {
		return false, err
	}
	e.held = time.Now()
	if e.at, err = e.snapshot(ctx, exportHold); errors.Is(err, errReset) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if _, ok := cuts.ParseSettings(e.at.settings); !ok {
		return false, ErrNotExported
	}
	if e.sealed, _, err = e.sealedCells(ctx, e.at.commits); err != nil {
		return false, err
	}
	if e.groups, err = e.totals.groups(ctx, e.sealed); err != nil {
		return false, err
	}
	if e.accounts, err = e.counts(ctx, cuts.AccountGroup, e.sealed[cuts.AccountGroup]); err != nil {
		return false, err
	}
	s := parseSubscriber(e.subscriber, e.at.settings, e.at.fields)
	oldest, sum := e.at.fields["oldest"], cuts.Account{}
	maps.DeleteFunc(e.accounts, func(member string, n int64) bool {
		day, account := (Cell{cuts.AccountGroup, member, n}).account()
		if day < oldest {
			s.Tally.Add(expiry(account))
			return true
		}
		sum.Add(strings.TrimPrefix(member, day+" "), n)
		return n == 0
	})
	if sum != (cuts.Account{Counted: s.Tally.Counted, Unknown: s.Tally.Unknown, Private: s.Tally.Private, Crawlers: s.Tally.Crawlers}) || e.subtracts() {
		return false, nil
	}
	e.tally = s.Tally
	return true, e.setHead(ctx, s)
}

// subtracts reports whether a sealed cell is negative.
func (e *exporter) subtracts() bool {
	for _, cells := range e.sealed {
		for _, n := range cells {
			if n < 0 {
				return true
			}
		}
	}
	return false
}

func (e *exporter) setHead(ctx context.Context, s Subscriber) error {
	id, err := e.sourceID(ctx, e.subscriber)
	if err != nil {
		return err
	}
	t := s.Tally
	e.head = exportHead{
		Format: exportFormat, Version: exportVersion, Source: id, Epoch: parseInt(e.at.fields["epoch"]), Commit: parseInt(e.at.fields["version"]),
		Settings: e.at.settings, Oldest: e.at.fields["oldest"], Builds: map[string]int64{},
		Sums: map[string]int64{
			"lines": t.Lines, "counted": t.Counted, "unknown": t.Unknown, "filtered": t.Filtered, "expired": t.Expired, "unparsable": t.Unparsable,
			"private": t.Private, "crawlers": t.Crawlers, "bytes": t.Bytes, "files": t.Files, "partial": t.Partial, "failed": t.Failed, "busy": s.Busy.Milliseconds(),
		},
	}
	for _, b := range s.Builds {
		e.head.Builds[b.Build] = b.Lines
	}
	return nil
}

// write writes all lines but the last one.
func (e *exporter) write(ctx context.Context) error {
	if err := e.line(e.head); err != nil {
		return err
	}
	if err := e.group(groupInfo{name: cuts.AccountGroup}, e.accounts); err != nil {
		return err
	}
	settings, _ := cuts.ParseSettings(e.at.settings)
	for _, g := range e.groups {
		parsed, ok := cuts.ParseGroup(g.name)
		if !ok || parsed.Day < e.head.Oldest || settings.CheckGroup(parsed) != nil {
			continue
		}
		if err := e.hold(ctx); err != nil {
			return err
		}
		counts, err := e.counts(ctx, g.name, e.sealed[g.name])
		if err != nil {
			return err
		}
		if err := e.group(g, counts); err != nil {
			return err
		}
	}
	return nil
}

// group writes the cells of one group.
func (e *exporter) group(g groupInfo, counts map[string]int64) error {
	maps.DeleteFunc(counts, func(_ string, n int64) bool { return n == 0 })
	for batch := range batches(slices.Sorted(maps.Keys(counts)), cellBatch, func(member string) int { return len(member) }) {
		line := exportCells{Group: g.name, Moved: g.folded, Cells: map[string]int64{}}
		for _, member := range batch {
			line.Cells[member] = counts[member]
		}
		e.cells += int64(len(batch))
		if err := e.line(line); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) line(value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	_, err = e.out.Write(append(text, '\n'))
	return err
}

// hold holds off folding for a further time, before the last one ends.
func (e *exporter) hold(ctx context.Context) error {
	if time.Since(e.held) < exportHold/3 {
		return nil
	}
	now, err := e.now(ctx)
	if err != nil {
		return err
	}
	e.held = time.Now()
	return e.db.Retry(ctx, func() error {
		return e.db.ZAdd(ctx, e.keys.subscriber(e.subscriber).readers(), redis.Z{Score: float64(now.Add(exportHold).UnixMilli()), Member: e.at.token}).Err()
	})
}
