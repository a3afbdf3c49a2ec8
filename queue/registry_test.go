package queue

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

const week = 7 * 24 * time.Hour

// A forgetFixture is a queue on an embedded server whose clock the test sets.
type forgetFixture struct {
	*testing.T
	db     *rdb.DB
	client *Client
	queue  *PoolQueue
	now    time.Time
}

func newForgetFixture(t *testing.T) *forgetFixture {
	t.Helper()
	db := redistest.Open(t, "embedded:")
	client, err := NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.ForPool("q")
	if err != nil {
		t.Fatal(err)
	}
	f := &forgetFixture{t, db, client, q, time.Now().Truncate(time.Second)}
	f.pass(0)
	return f
}

// pass sets the clock of Redis forward, and that of the client.
func (f *forgetFixture) pass(d time.Duration) {
	f.Helper()
	f.now = f.now.Add(d)
	f.must(f.db.SetEmbeddedTime(f.now))
	if f.queue.registered.Load() > 0 {
		f.queue.registered.Add(-int64(d))
	}
}

func (f *forgetFixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// add enqueues a job of queue q.
func (f *forgetFixture) add(o Options) string {
	f.Helper()
	o.Queue = "q"
	id, err := f.client.Enqueue(f.Context(), Raw("a", []byte("{}")), &o)
	f.must(err)
	return id
}

// drain ends all waiting jobs, and closes its lease.
func (f *forgetFixture) drain() {
	f.Helper()
	_, err := f.drainUnder(fmt.Sprint("w", f.now.UnixNano()), time.Minute).Close(f.Context())
	f.must(err)
}

// drainUnder ends all waiting jobs under a new lease.
func (f *forgetFixture) drainUnder(worker string, length time.Duration) *Lease {
	f.Helper()
	lease, err := f.queue.NewLease(worker, length)
	f.must(err)
	fetched, err := lease.Fetch(f.Context(), FetchLimits{Jobs: 100, Bytes: 1 << 20})
	f.must(err)
	var ends []Completion
	for _, job := range fetched.Jobs {
		ends = append(ends, Completion{Job: job, Disposition: AttemptSucceeded})
	}
	_, err = lease.Finish(f.Context(), ends)
	f.must(err)
	return lease
}

// forget returns the names of the queues that were forgotten.
func (f *forgetFixture) forget() []string {
	f.Helper()
	names, err := f.client.ForgetQueues(f.Context(), week, 10)
	f.must(err)
	return names
}

func (f *forgetFixture) listed() bool {
	f.Helper()
	names, err := f.client.Queues(f.Context())
	f.must(err)
	return slices.Contains(names, "q")
}

// keys returns the keys that the queue has.
func (f *forgetFixture) keys() []string {
	f.Helper()
	keys, err := f.db.Keys(f.Context(), f.db.Prefix()+":{q:0}:*").Result()
	f.must(err)
	return keys
}

func TestQueueThatIsIdleForAWeekIsForgotten(t *testing.T) {
	t.Parallel()
	f := newForgetFixture(t)
	f.add(Options{})
	f.drain()
	f.pass(week - time.Minute)
	if names := f.forget(); len(names) > 0 || !f.listed() {
		t.Fatalf("forgot %v before a week was over", names)
	}
	f.pass(2 * time.Minute)
	if names := f.forget(); !slices.Equal(names, []string{"q"}) || f.listed() {
		t.Fatalf("forgot %v; it is listed: %v", names, f.listed())
	}
	if keys := f.keys(); len(keys) > 0 {
		t.Errorf("keys %q are left", keys)
	}
	f.add(Options{})
	if depth, err := f.queue.Depth(t.Context()); err != nil || depth.Waiting != 1 || !f.listed() {
		t.Errorf("a job that was added later: %+v, %v", depth, err)
	}
}

// What a queue may have, and the word with which Delete refuses it; "" for what Delete
// deletes. ForgetQueues keeps all of it.
var contents = map[string]struct {
	put     func(f *forgetFixture) error
	refusal string
}{
	"waiting job": {func(f *forgetFixture) error { f.add(Options{}); return nil }, "jobs"},
	"delayed job": {func(f *forgetFixture) error { f.add(Options{Delay: 30 * 24 * time.Hour}); return nil }, "jobs"},
	"retained job": {func(f *forgetFixture) error {
		f.add(Options{Retain: 30 * 24 * time.Hour})
		f.drain()
		return nil
	}, "jobs"},
	"schedule": {func(f *forgetFixture) error {
		s := CronSchedule{Name: "s", Expr: "@hourly", Queue: "q", Kind: "a"}
		_, err := f.queue.PutSchedule(f.Context(), s, func(after time.Time) (time.Time, error) { return after.Add(time.Hour), nil })
		return err
	}, "schedules"},
	"living worker": {func(f *forgetFixture) error {
		f.add(Options{})
		f.drainUnder("w", 30*24*time.Hour)
		return nil
	}, "workers"},
	"pause": {func(f *forgetFixture) error { return f.queue.Pause(f.Context(), "", "") }, ""},
	"retention": {func(f *forgetFixture) error {
		return f.queue.SetRetention(f.Context(), Retention{Dead: RetentionLimit{Jobs: 5}})
	}, ""},
	"events": {func(f *forgetFixture) error { return f.queue.KeepEvents(f.Context(), 5) }, ""},
	"unique key": {func(f *forgetFixture) error {
		f.add(Options{Unique: Unique{Key: "k", Scope: ForDuration, For: 30 * 24 * time.Hour}})
		f.drain()
		return nil
	}, ""},
}

func TestQueueThatHasAnythingIsNotForgotten(t *testing.T) {
	t.Parallel()
	for name, c := range contents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForgetFixture(t)
			f.must(c.put(f))
			before := f.keys()
			f.pass(week + time.Hour)
			if names := f.forget(); len(names) > 0 || !f.listed() || !slices.Equal(f.keys(), before) {
				t.Errorf("forgot %v; the keys were %q, and are %q", names, before, f.keys())
			}
		})
	}
}

func TestDeleteRefusesAQueueThatHasJobsSchedulesOrWorkers(t *testing.T) {
	t.Parallel()
	for name, c := range contents {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForgetFixture(t)
			f.must(c.put(f))
			if err := f.queue.Delete(t.Context()); err == nil || !strings.Contains(err.Error(), "three minutes") {
				t.Errorf("within three minutes: %v", err)
			}
			f.pass(unusedFor)
			before, err := f.keys(), f.queue.Delete(t.Context())
			if c.refusal != "" {
				if err == nil || !strings.Contains(err.Error(), "it has "+c.refusal) || !slices.Equal(f.keys(), before) || !f.listed() {
					t.Errorf("%v; the keys are %q", err, f.keys())
				}
				return
			}
			if err != nil || len(f.keys()) > 0 || f.listed() {
				t.Errorf("%v; the keys are %q", err, f.keys())
			}
		})
	}
}

func TestDeleteRefusesAQueueThatALivingPoolServesByName(t *testing.T) {
	t.Parallel()
	for served, refused := range map[string]bool{"q": true, "*": false, "other": false} {
		f := newForgetFixture(t)
		f.must(f.client.Register(t.Context(), "q"))
		f.pass(unusedFor)
		_, err := f.client.Beat(t.Context(), PoolBeat{Pool: "p", Length: time.Minute, Info: &PoolInfo{Queues: []string{served}}})
		f.must(err)
		err = f.queue.Delete(t.Context())
		if got := err != nil && strings.Contains(err.Error(), "worker p serves it by its name"); got != refused || !refused && err != nil || f.listed() != refused {
			t.Errorf("with a pool of %s: %v; listed: %t", served, err, f.listed())
		}
	}
}

func TestExpiredDataDoesNotKeepAQueue(t *testing.T) {
	t.Parallel()
	f := newForgetFixture(t)
	f.add(Options{Retain: time.Hour, Unique: Unique{Key: "k", Scope: ForDuration, For: 2 * time.Hour}})
	f.drain()
	f.pass(week + time.Hour)
	if names := f.forget(); !slices.Equal(names, []string{"q"}) || len(f.keys()) > 0 {
		t.Errorf("forgot %v; the keys are %q", names, f.keys())
	}
}

func TestQueuesKeptAreNotInTheWayOfOthers(t *testing.T) {
	t.Parallel()
	f := newForgetFixture(t)
	f.add(Options{}) // stays
	f.must(f.db.ZAdd(t.Context(), f.db.Prefix()+":{queues}:used", redis.Z{Score: 1, Member: "no name!"}).Err())
	idle, err := f.client.ForPool("idle")
	f.must(err)
	f.pass(time.Second)
	f.must(f.client.Register(t.Context(), idle.Name()))
	f.pass(week + time.Minute)
	for range 2 { // one at a time
		if names, err := f.client.ForgetQueues(t.Context(), week, 1); err != nil || len(names) > 0 {
			t.Fatalf("%v %v", names, err)
		}
	}
	if names, err := f.client.ForgetQueues(t.Context(), week, 1); err != nil || !slices.Equal(names, []string{"idle"}) {
		t.Errorf("%v %v", names, err)
	}
}

// The steps of a client that adds a job, and those of a pool that forgets the queue, in
// every order and with all times in between that the bounds allow. A job that was added is
// there, in a queue that is listed.
func TestJobThatIsAddedWhileItsQueueIsForgottenIsNotLost(t *testing.T) {
	t.Parallel()
	const register, enqueue, unused, forget, unregister = 'R', 'E', 'u', 'f', 'r'
	f := newForgetFixture(t)
	keys := registryKeys(f.client.prefix)
	orders, checked := interleavings("RE", "ufr"), 0
	pauses := []time.Duration{0, removeWithin, registerEvery + removeWithin, unusedFor, week}
	for _, order := range orders {
		for choice := range 5 * 5 * 5 * 5 {
			adding, rest := time.Duration(0), choice // from register to enqueue
			for i := 1; i <= strings.IndexRune(order, enqueue); i++ {
				if i > strings.IndexRune(order, register) {
					adding += pauses[rest%5]
				}
				rest /= 5
			}
			if adding > registerEvery+removeWithin {
				continue // the client would have registered the queue again
			}
			f.must(f.db.FlushAll(t.Context()).Err())
			at := map[rune]time.Time{}
			_, err := registerScript.Run(t.Context(), f.db, keys, "q")
			f.must(err)
			f.pass(week + time.Minute)
			found, removable := false, false
			for i, step := range order {
				if i > 0 {
					f.pass(pauses[choice%5])
					choice /= 5
				}
				at[step] = f.now
				switch step {
				case register:
					_, err = registerScript.Run(t.Context(), f.db, keys, "q")
				case enqueue:
					_, _, err = f.queue.send(t.Context(), []encodedJob{{kind: "a", args: "{}"}}, nil)
				case unused:
					var reply rdb.Reply
					reply, err = unusedScript.Run(t.Context(), f.db, keys, millis(week), 10)
					found = reply.Len() > 0
				case forget:
					if found {
						var reply rdb.Reply
						reply, err = f.queue.runOn(t.Context(), forgetScript, scheduleKeys(f.queue.keys), flag(false), millis(week))
						removable = reply.Word == "ok"
					}
				case unregister:
					if removable && f.now.Sub(at[forget]) <= removeWithin {
						_, err = f.queue.unregister(t.Context(), true)
					}
				}
				f.must(err)
			}
			checked++
			if depth, err := f.queue.Depth(t.Context()); err != nil || depth.Waiting != 1 || !f.listed() {
				t.Fatalf("%s at %v: %+v, %v; listed: %v", order, at, depth, err, f.listed())
			}
		}
	}
	if len(orders) != 10 || checked < 1000 {
		t.Errorf("%d orders, %d cases", len(orders), checked)
	}
}

// interleavings returns all orders of the letters of two texts that keep the order of each.
func interleavings(a, b string) []string {
	if a == "" || b == "" {
		return []string{a + b}
	}
	var all []string
	for _, rest := range interleavings(a[1:], b) {
		all = append(all, a[:1]+rest)
	}
	for _, rest := range interleavings(a, b[1:]) {
		all = append(all, b[:1]+rest)
	}
	return all
}

func TestQueuesInUseAreRegisteredWithOneCommand(t *testing.T) {
	t.Parallel()
	f := newForgetFixture(t)
	for i := range 10 {
		_, err := f.client.Enqueue(t.Context(), Raw("a", nil), &Options{Queue: fmt.Sprint("q", i)})
		f.must(err)
	}
	f.must(f.db.Del(t.Context(), registryKeys(f.client.prefix)...).Err())
	for i := range 10 {
		q, err := f.client.Queue(fmt.Sprint("q", i))
		f.must(err)
		q.registered.Add(-int64(registerEvery))
		q.used.Store(q.registered.Load() + 1)
	}
	unused, err := f.client.Queue("q9")
	f.must(err)
	unused.used.Store(unused.registered.Load() - 1)
	_, err = f.client.Enqueue(t.Context(), Raw("a", nil), &Options{Queue: "q0"})
	f.must(err)
	if names, err := f.client.Queues(t.Context()); err != nil || len(names) != 9 || slices.Contains(names, "q9") {
		t.Errorf("registered %v, %v, want all that were used", names, err)
	}
}

func TestClientRemembersABoundedNumberOfQueues(t *testing.T) {
	t.Parallel()
	f := newForgetFixture(t)
	for i := range maxQueues + 10 {
		if _, err := f.client.Queue(fmt.Sprintf("q%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if n := len(f.client.queues); n != maxQueues {
		t.Errorf("%d queues are remembered, want %d", n, maxQueues)
	}
	if _, err := f.client.Enqueue(t.Context(), Raw("a", nil), nil); err != nil { // whether or not it was forgotten
		t.Error(err)
	}
}
