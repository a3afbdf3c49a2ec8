package delayed

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// A cronModel is some schedules, those who watch them, and what should have become of
// all that, in a time that only the test's clock counts.
type cronModel struct {
	db     *rdb.DB
	client *queue.Client
	queue  *queue.PoolQueue
	now    time.Time

	graceEnd time.Time // until when the last look has graceEnd
	due      map[string]time.Time
	period   map[string]time.Duration
	catchUp  map[string]queue.CatchUp
	fired    map[string]int // "name time" → how often it should have fired
	stale    []staleFire
}

// A staleFire is what a watch was about to do when it was held up.
type staleFire struct {
	due  queue.DueSchedule
	plan plan
}

func newQueue(t rapid.TB, db *rdb.DB) (*queue.Client, *queue.PoolQueue) {
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.ForPool("q")
	if err != nil {
		t.Fatal(err)
	}
	return client, q
}

func (c *cronModel) set(t *rapid.T, now time.Time) {
	c.now = now
	if err := c.db.SetEmbeddedTime(now); err != nil {
		t.Fatal(err)
	}
}

// Pass lets time pass.
func (c *cronModel) Pass(t *rapid.T) {
	d := rapid.OneOf(rapid.Int64Range(1, 5000), rapid.Int64Range(1, 60000), rapid.Int64Range(1, 600000)).Draw(t, "ms")
	c.set(t, c.now.Add(time.Duration(d)*time.Millisecond))
}

// TurnBack turns the clock back, as an administrator may, after a watch.
func (c *cronModel) TurnBack(t *rapid.T) {
	c.Watch(t)
	c.set(t, c.now.Add(-time.Duration(rapid.Int64Range(1, 100000).Draw(t, "ms"))*time.Millisecond))
	c.Watch(t)
}

// Add adds a schedule or puts another one in its place.
func (c *cronModel) Add(t *rapid.T) {
	name := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name")
	period := time.Duration(rapid.IntRange(3, 40).Draw(t, "period")) * time.Second
	catchUp := rapid.SampledFrom([]queue.CatchUp{"none", "last", "all"}).Draw(t, "policy")
	s := queue.CronSchedule{Name: name, Expr: "@every " + period.String(), Queue: "q", Kind: "k", CatchUp: catchUp}
	changed, err := AddSchedule(context.Background(), c.client, s)
	if same := c.period[name] == period && c.catchUp[name] == catchUp; err != nil || changed == same {
		t.Fatalf("add: changed %t, %v", changed, err)
	}
	if c.period[name] != period {
		since := time.Duration(c.now.UnixMilli()%period.Milliseconds()) * time.Millisecond
		c.due[name] = c.now.Add(period - since)
	}
	c.period[name], c.catchUp[name] = period, catchUp
}

// Remove removes a schedule.
func (c *cronModel) Remove(t *rapid.T) {
	if len(c.period) == 0 {
		t.Skip("there is no schedule to remove")
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(c.period))).Draw(t, "name")
	if err := c.queue.RemoveSchedule(context.Background(), name, ""); err != nil {
		t.Fatal(err)
	}
	delete(c.period, name)
	delete(c.due, name)
	delete(c.catchUp, name)
}

// Watch is a watcher that comes, fires all that is due and goes.
func (c *cronModel) Watch(t *rapid.T) {
	w := newWatch(c.queue, "", slog.New(slog.DiscardHandler))
	for {
		w.watcher = rapid.SampledFrom([]string{"w1", "w2"}).Draw(t, "who")
		wait, err := w.step(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		if wait != 0 {
			break
		}
	}
	for name, period := range c.period {
		var missed []time.Time
		for ; !c.due[name].After(c.now); c.due[name] = c.due[name].Add(period) {
			if due := c.due[name]; due.After(c.graceEnd) && due.Before(c.now) {
				missed = append(missed, due)
			} else {
				c.fired[fmt.Sprint(name, " ", due.Unix())]++
			}
		}
		for _, due := range missed[max(0, len(missed)-maxMissed(c.catchUp[name])):] {
			c.fired[fmt.Sprint(name, " ", due.Unix())]++
		}
	}
	if len(c.period) > 0 || c.graceEnd.Unix() > 0 {
		c.graceEnd = c.now.Add(lateGrace)
	}
}

// Killed is a watcher that looks and then is held up for ever or for a while;
// another one comes some seconds later.
func (c *cronModel) Killed(t *rapid.T) {
	c.Watch(t)
	c.set(t, c.now.Add(time.Duration(rapid.Int64Range(1, 25000).Draw(t, "ms"))*time.Millisecond))
	found, err := c.queue.DueSchedules(context.Background(), "dead", lateGrace, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range found.Due {
		due := &found.Due[i]
		table, err := parseTimetable(due.Expr, due.Zone)
		if err != nil {
			t.Fatal(err)
		}
		c.stale = append(c.stale, staleFire{*due, planOf(table, due, &found, 50)})
	}
	c.Watch(t)
}

// Stale is a watcher that goes on after others have done its work.
func (c *cronModel) Stale(t *rapid.T) {
	for _, s := range c.stale {
		if fired, err := c.queue.FireSchedule(context.Background(), &s.due, s.plan.fire, s.plan.next); err != nil || fired {
			t.Fatalf("a late call for %v of %s: fired %t, %v", s.plan.fire, s.due.Name, fired, err)
		}
	}
}

// Check compares the jobs with what should have become of the schedules.
func (c *cronModel) Check(t *rapid.T) {
	got := map[string]int{}
	for o := (queue.ListOptions{Limit: 1000}); ; {
		page, err := c.queue.List(context.Background(), queue.Waiting, &o)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range page.Jobs {
			due, err := time.Parse(time.RFC3339, job.Headers[queue.HeaderDue])
			if err != nil {
				t.Fatal(err)
			}
			got[fmt.Sprint(job.Headers[queue.HeaderSchedule], " ", due.Unix())]++
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			break
		}
	}
	if !maps.Equal(got, c.fired) {
		t.Fatalf("fired\n%v, want\n%v", got, c.fired)
	}
	infos, err := Schedules(context.Background(), c.client, "q")
	if err != nil || len(infos) != len(c.period) {
		t.Fatalf("schedules %v, %v; want %d", infos, err, len(c.period))
	}
	for _, info := range infos {
		if info.Err != nil || !info.Next.Equal(c.due[info.Name]) {
			t.Fatalf("%s is due at %v (%v), want %v", info.Name, info.Next, info.Err, c.due[info.Name])
		}
	}
}

// Each time fires once, or by its policy, in any sequence of watches and clocks.
func TestEachTimeFiresOnceOrByItsPolicy(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	rapid.Check(t, func(t *rapid.T) {
		if err := db.FlushAll(context.Background()).Err(); err != nil {
			t.Fatal(err)
		}
		client, q := newQueue(t, db)
		c := &cronModel{
			db: db, client: client, queue: q, due: map[string]time.Time{}, period: map[string]time.Duration{},
			catchUp: map[string]queue.CatchUp{}, fired: map[string]int{}, graceEnd: time.Unix(0, 0),
		}
		c.set(t, time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
		t.Repeat(map[string]func(*rapid.T){
			"Pass": c.Pass, "TurnBack": c.TurnBack, "Add": c.Add, "Remove": c.Remove,
			"Watch": c.Watch, "Killed": c.Killed, "Stale": c.Stale, "Check": c.Check,
		})
		c.Check(t)
	})
}

// A watch that ends in the 20 s before a time has graceEnd for it.
func TestWatchIsRecordedShortlyBeforeEachTime(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	client, q := newQueue(t, db)
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	due := now.Add(time.Hour)
	if err := db.SetEmbeddedTime(now); err != nil {
		t.Fatal(err)
	}
	if _, err := AddSchedule(t.Context(), client, queue.CronSchedule{Name: "a", Expr: "@every 1h", Queue: "q", Kind: "k"}); err != nil {
		t.Fatal(err)
	}
	w := newWatch(q, "w", slog.New(slog.DiscardHandler))
	var looks []time.Time
	for now.Before(due) {
		wait, err := w.step(t.Context())
		if err != nil || wait <= 0 {
			t.Fatalf("at %s: %s, %v", now, wait, err)
		}
		looks = append(looks, now)
		now = now.Add(wait)
		if err := db.SetEmbeddedTime(now); err != nil {
			t.Fatal(err)
		}
	}
	if !now.Equal(due) {
		t.Errorf("it came %s after the time", now.Sub(due))
	}
	for _, end := range []time.Duration{20 * time.Second, 15 * time.Second, 5 * time.Second, time.Millisecond} {
		last := time.Time{}
		for _, look := range looks {
			if !look.After(due.Add(-end)) {
				last = look
			}
		}
		if last.Add(lateGrace).Before(due) {
			t.Errorf("a watch that ended %s before the time had looked %s before it", end, due.Sub(last))
		}
	}
	if len(looks) > 70 {
		t.Errorf("it looked %d times in an hour", len(looks))
	}
}
