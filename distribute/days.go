package distribute

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"skidway/distribute/accesslog"
	"skidway/distribute/cuts"
)

// expire moves the lines of days that the settings do not keep any more to the expired ones, and
// returns the oldest day that is kept, empty if all are. It can be interrupted and repeated at any
// time: the cells of these days are in no report from then on, and are deleted by any process.
func (t totals) expire(ctx context.Context, settings cuts.Settings) (oldest string, err error) {
	if settings.Keep == 0 {
		return "", nil
	}
	now, err := t.now(ctx)
	if err != nil {
		return "", err
	}
	oldest = settings.Oldest(now)
	return oldest, t.expireBefore(ctx, oldest)
}

// expireBefore does it for the days before the oldest one.
func (t totals) expireBefore(ctx context.Context, oldest string) error {
	for done := false; !done; {
		reply, err := t.call(ctx, expireScript, target{subscriber: t.subscriber}, oldest)
		if err != nil {
			return err
		}
		done = reply.Int(0) == 1
	}
	return t.dropDays(ctx)
}

// dropDays deletes the cells of days that are not kept, unless a report reads the totals.
func (t totals) dropDays(ctx context.Context) error {
	at, err := query(ctx, t.db, func() ([]any, error) {
		return t.db.HMGet(ctx, t.own.record(), "oldest", "dropped").Result()
	})
	if err != nil || at[0] == nil || at[0] == at[1] {
		return err
	}
	oldest, _ := at[0].(string)
	if err := t.dropVisitors(ctx, "", "-", "("+oldest); err != nil {
		return err
	}
	groups, err := t.groups(ctx, nil)
	if err != nil {
		return err
	}
	groups = slices.DeleteFunc(groups, func(g groupInfo) bool { day := (Cell{Group: g.name}).day(); return day == "" || day >= oldest })
	for {
		batch := groups[:min(len(groups), dropBatch)]
		groups = groups[len(batch):]
		of, args := target{subscriber: t.subscriber}, []any{oldest, len(groups) == 0}
		for _, g := range batch {
			of.more, args = append(of.more, t.own.totals(g.name)), append(args, g.name)
		}
		reply, err := t.call(ctx, dropScript, of, args...)
		if err != nil || reply.Int(0) <= 0 || len(groups) == 0 {
			return err
		}
	}
}

// dropBatch is the number of groups that one call deletes.
const dropBatch = 100

// A retention knows the oldest day that a subscriber keeps, for its worker.
type retention struct {
	totals   totals
	settings cuts.Settings

	mu     sync.Mutex
	oldest string    // empty: all are kept
	looked time.Time // when the clock of Redis was read
}

// retentionInterval is the time between two looks at the clock of Redis: days may expire so much
// late, until then their lines are counted.
const retentionInterval = time.Minute

func (s *store) retention(subscriber, settings string) *retention {
	parsed, _ := cuts.ParseSettings(settings)
	return &retention{totals: s.totals(subscriber), settings: parsed}
}

// refresh expires days, if it is time to.
func (r *retention) refresh(ctx context.Context) error {
	if r.settings.Keep == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.looked.IsZero() && time.Since(r.looked) < retentionInterval {
		return nil
	}
	oldest, err := r.totals.expire(ctx, r.settings)
	if err == nil {
		r.oldest, r.looked = oldest, time.Now()
	}
	return err
}

// An agingAggregation begins counters for which lines of days that are not kept are [Expired].
type agingAggregation struct {
	Aggregation
	retention *retention
	file      string // with which it is announced
}

// Begin implements [Aggregation].
func (a agingAggregation) Begin(sample []byte, state string) (Counter, error) {
	counter, err := a.Aggregation.Begin(sample, state)
	lines, ok := counter.(*lineCounter)
	if !ok || err != nil {
		return counter, err
	}
	a.retention.mu.Lock()
	oldest := a.retention.oldest
	a.retention.mu.Unlock()
	if day, err := accesslog.ParseDay(oldest); err == nil {
		lines.oldest = day
	}
	if lines.cuts != nil {
		lines.cuts.Origin.File = a.file
	}
	return counter, nil
}

// account returns the day and the numbers of a cell of the accounts; the day of another cell is
// empty.
func (c Cell) account() (day string, a cuts.Account) {
	if c.Group != cuts.AccountGroup {
		return "", a
	}
	day, name, _ := strings.Cut(c.Member, " ")
	a.Add(name, c.N)
	return day, a
}

// expiry returns how a tally changes when the lines of an account expire.
func expiry(a cuts.Account) Tally {
	return Tally{
		Counted: -a.Counted, Unknown: -a.Unknown, Expired: a.Counted + a.Unknown, Private: -a.Private, Crawlers: -a.Crawlers,
	}
}

// day returns the day of a cell of a [Counting], empty for another one.
func (c Cell) day() string {
	if day, _ := c.account(); day != "" {
		return day
	}
	g, _ := cuts.ParseGroup(c.Group)
	return g.Day
}

// byDay returns the cells that are not 0, by their day, and the days that have only lines that a filter
// refused.
func (r *fileResult) byDay() (days map[string][]Cell, others []string, err error) {
	days = map[string][]Cell{}
	dayOfGroup := map[string]string{}
	for name, n := range r.cells {
		if n == 0 {
			continue
		}
		if strings.Contains(name.group, "\t") || strings.Contains(name.member, "\t") {
			return nil, nil, fmt.Errorf("the aggregation counts in %q, %q: group and member can't hold a tab", name.group, name.member)
		}
		cell := Cell{name.group, name.member, n}
		day, known := dayOfGroup[name.group]
		if !known {
			if day = cell.day(); name.group != cuts.AccountGroup {
				dayOfGroup[name.group] = day
			}
		}
		days[day] = append(days[day], cell)
	}
	for day := range r.filtered {
		if days[day] == nil {
			others = append(others, day)
		}
	}
	return days, others, nil
}

// expire drops the cells of days, whose lines are expired.
func (r *fileResult) expire(days map[string]bool) {
	for day := range days {
		filtered := Tally{Filtered: -r.filtered[day], Expired: r.filtered[day]}
		r.tally.Add(filtered)
		r.read.Add(filtered)
		n := r.tail.filtered[day]
		r.tail.tally.Add(Tally{Filtered: -n, Expired: n})
	}
	maps.DeleteFunc(r.cells, func(name cellName, n int64) bool {
		cell := Cell{name.group, name.member, n}
		if !days[cell.day()] {
			return false
		}
		_, account := cell.account()
		moved := expiry(account)
		r.tally.Add(moved)
		r.read.Add(moved)
		return true
	})
	r.tail.cells = slices.DeleteFunc(r.tail.cells, func(cell Cell) bool {
		if !days[cell.day()] {
			return false
		}
		_, account := cell.account()
		r.tail.tally.Add(expiry(account))
		return true
	})
}
