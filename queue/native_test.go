package queue_test

import (
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// native adds a job by the script, so that later ones are added natively until the test ends.
func (d *fixture) native() {
	d.Helper()
	d.add("first", queue.Options{})
	d.queue.SetSettingsAge(-time.Hour)
}

// addInParallel adds plain jobs by as many callers, which share the round trip that follows
// the one whose reply is held. Their args have at least size bytes. It returns their results.
func (d *fixture) addInParallel(held *redistest.HeldReply, n, size int) []queue.Result {
	d.Helper()
	results := make([]queue.Result, n)
	var callers sync.WaitGroup
	add := func(i int) {
		id, err := d.client.Enqueue(d.Context(), queue.Raw("a", []byte(itoa(i)+strings.Repeat(" ", size))), &queue.Options{Queue: "q"})
		results[i] = queue.Result{ID: id, Err: err}
	}
	callers.Go(func() { add(0) })
	<-held.Held()
	for i := 1; i < n; i++ {
		callers.Go(func() { add(i) })
	}
	for d.queue.WaitingCalls() < n-1 {
		runtime.Gosched()
	}
	held.Release()
	callers.Wait()
	return results
}

func TestPlainJobsAreAddedByOneCommandEach(t *testing.T) {
	t.Parallel()
	d, proxy := setupProxied(t)
	for _, p := range []queue.Priority{queue.High, queue.Normal, queue.Low} {
		d.add("a", queue.Options{Priority: p}) // creates the line
	}
	d.queue.SetSettingsAge(0)
	var ids []string
	before := proxy.Commands()
	for _, p := range []queue.Priority{queue.High, queue.Normal, queue.Low} {
		ids = append(ids, d.add("b", queue.Options{Priority: p}))
	}
	d.queue.SetSettingsAge(150 * time.Millisecond) // also looks at the settings
	ids = append(ids, d.add("b", queue.Options{}))
	if n := proxy.Commands() - before; n != 5 {
		t.Errorf("%d commands for four jobs and one look, want 5", n)
	}
	for i, want := range []queue.Priority{queue.High, queue.Normal, queue.Low, queue.Normal} {
		if job := d.get(ids[i]); job.Priority != want || job.Kind != "b" || string(job.Args) != `{"of":"b"}` || job.State != queue.Waiting {
			t.Errorf("job %d is %+v", i, job)
		}
	}
}

func TestJobsWithOptionsOfTheirOwnAreAddedByOneCommandEach(t *testing.T) {
	t.Parallel()
	d, proxy := setupProxied(t)
	d.native()
	d.get(d.add("a", queue.Options{})) // loads the script that reads
	for name, options := range map[string]queue.Options{
		"headers":      {Headers: map[string]string{"traceparent": "00-1-2-01", "name": "\"é\""}},
		"max attempts": {MaxAttempts: 3},
		"timeout":      {Timeout: time.Minute},
		"deadline":     {Deadline: time.Now().Add(time.Hour).Truncate(time.Millisecond)},
		"retain":       {Retain: time.Hour},
		"then":         {Then: []queue.NewJob{{Args: queue.Raw("next", []byte("{}"))}}},
	} {
		before := proxy.Commands()
		job := d.get(d.add("a", options))
		if n := proxy.Commands() - before; n != 2 {
			t.Errorf("%s: %d commands to add and to read, want 2", name, n)
		}
		if job.State != queue.Waiting || job.Kind != "a" || string(job.Args) != `{"of":"a"}` || job.Priority != queue.Normal || !maps.Equal(job.Headers, options.Headers) ||
			job.MaxAttempts != options.MaxAttempts || job.Timeout != options.Timeout || !job.Deadline.Equal(options.Deadline) || job.Retain != options.Retain || len(job.Then) != len(options.Then) {
			t.Errorf("%s: the job is %+v", name, job)
		}
	}
}

func TestLoneCallsWithMiddlewareShareRoundTrips(t *testing.T) {
	t.Parallel()
	d, proxy := setupProxied(t)
	through := func(ctx context.Context, jobs []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
		return next(ctx, jobs)
	}
	client, err := queue.NewClient(handle.New(d.db), &queue.Config{Middleware: []queue.Middleware{through}})
	d.must(err)
	d.client = client
	d.queue, err = client.ForPool("q")
	d.must(err)
	d.native()
	before := proxy.Commands()
	results := d.addInParallel(proxy.HoldReply("xadd", ""), 5, 0)
	if n := proxy.Commands() - before; n != 5 {
		t.Errorf("%d commands for five jobs, want an XADD each", n)
	}
	for _, result := range results {
		d.must(result.Err)
	}
}

func TestLostReplyToAPlainJobIsAnUnknownOutcomeAndNotRepeated(t *testing.T) {
	t.Parallel()
	for _, lost := range []struct {
		what string
		lose func(*redistest.Proxy)
		jobs int
	}{
		{"reply", func(p *redistest.Proxy) { p.DropReply(1) }, 2},
		{"command", func(p *redistest.Proxy) { p.LoseCommands("nomkstream") }, 1},
	} {
		d, proxy := setupProxied(t)
		d.native()
		lost.lose(proxy)
		_, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: "q"})
		var unknown *rdb.OutcomeUnknownError
		if !errors.As(err, &unknown) {
			t.Errorf("the %s is lost: %v", lost.what, err)
		}
		proxy.LoseCommands("")
		if ids := d.all(queue.Waiting, 10); len(ids) != lost.jobs {
			t.Errorf("the %s is lost: %d jobs wait, want %d", lost.what, len(ids), lost.jobs)
		}
	}
}

func TestEachCallOfABatchHasItsOwnOutcome(t *testing.T) {
	t.Parallel()
	const callers = 9
	d, proxy := setupProxied(t)
	d.native()
	held := proxy.HoldReply("xadd", "")
	proxy.DropReply(1 + 4) // of the pipeline that follows, the fourth
	results := d.addInParallel(held, callers, 0)
	added := 0
	for _, result := range results {
		var unknown *rdb.OutcomeUnknownError
		if result.Err == nil {
			added++
			if job := d.get(result.ID); job.State != queue.Waiting {
				t.Errorf("job %s is %s", result.ID, job.State)
			}
		} else if !errors.As(result.Err, &unknown) || result.ID != "" {
			t.Errorf("got %+v", result)
		}
	}
	if added != 1+3 {
		t.Errorf("%d callers got an id, want the first and three of the pipeline", added)
	}
	if ids := d.all(queue.Waiting, 100); len(ids) != 1+callers {
		t.Errorf("%d jobs wait, want %d: none is repeated", len(ids), 1+callers)
	}
}

func TestCallsWithAndWithoutOptionsShareRoundTrips(t *testing.T) {
	t.Parallel()
	d, proxy := setupProxied(t)
	d.native()
	d.add("a", queue.Options{Unique: queue.Unique{Key: "k"}})
	held := proxy.HoldReply("xadd", "")
	var callers sync.WaitGroup
	callers.Go(func() { d.add("a", queue.Options{}) })
	<-held.Held()
	before := proxy.Commands()
	for range 4 {
		callers.Go(func() { d.add("b", queue.Options{}) })
		callers.Go(func() { d.add("c", queue.Options{Priority: queue.High}) }) // a line that does not exist
		callers.Go(func() {
			var duplicate *queue.DuplicateError
			_, err := d.client.Enqueue(t.Context(), queue.Raw("d", nil), &queue.Options{Queue: "q", Unique: queue.Unique{Key: "k"}})
			if !errors.As(err, &duplicate) {
				t.Errorf("a duplicate: %v", err)
			}
		})
	}
	for d.queue.WaitingCalls() < 12 {
		runtime.Gosched()
	}
	held.Release()
	callers.Wait()
	if n := proxy.Commands() - before; n > 8+3 { // the script may be sent by its hash and then as a text
		t.Errorf("%d commands", n)
	}
	kinds := map[string]int{}
	for _, id := range d.all(queue.Waiting, 100) {
		kinds[d.get(id).Kind]++
	}
	if kinds["b"] != 4 || kinds["c"] != 4 || kinds["d"] != 0 {
		t.Errorf("the kinds are %v", kinds)
	}
}

func TestCallThatEndsBeforeItsReplyHasAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	d, proxy := setupProxied(t)
	d.native()
	held := proxy.HoldReply("xadd", "")
	first := make(chan error, 1)
	go func() {
		_, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: "q"})
		first <- err
	}()
	<-held.Held()
	ctx, cancel := context.WithCancel(t.Context())
	second := make(chan error, 1)
	go func() {
		_, err := d.client.Enqueue(ctx, queue.Raw("a", nil), &queue.Options{Queue: "q"})
		second <- err
	}()
	for d.queue.WaitingCalls() < 1 {
		runtime.Gosched()
	}
	cancel()
	var unknown *rdb.OutcomeUnknownError
	if err := <-second; !errors.As(err, &unknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("a call that ended: %v", err)
	}
	held.Release()
	d.must(<-first)
	for len(d.all(queue.Waiting, 10)) < 3 { // the abandoned job is added too
		runtime.Gosched()
	}
	if _, err := d.client.Enqueue(ctx, queue.Raw("a", nil), &queue.Options{Queue: "q"}); !errors.Is(err, context.Canceled) || errors.As(err, &unknown) {
		t.Errorf("a call that ended before it began: %v", err)
	}
	if ids := d.all(queue.Waiting, 10); len(ids) != 3 {
		t.Errorf("%d jobs wait, want 3", len(ids))
	}
}

func TestJobsOfAQueueThatRedisLostAreAddedAndTheQueueIsRegistered(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		d.native()
		for _, key := range []string{d.key("2:normal:fresh"), d.key("meta"), db.Prefix() + ":{queues}", db.Prefix() + ":{queues}:used"} {
			d.must(db.Del(t.Context(), key).Err())
		}
		id := d.add("a", queue.Options{})
		names, err := d.client.Queues(t.Context())
		d.must(err)
		if !slices.Equal(names, []string{"q"}) && !db.Embedded() { // there the script adds, and does not notice
			t.Errorf("the queues are %v", names)
		}
		if got := d.all(queue.Waiting, 10); !slices.Equal(got, []string{id}) {
			t.Errorf("the jobs are %v, want %s", got, id)
		}
		if format := db.HGet(t.Context(), d.key("meta"), "format").Val(); format != "2" {
			t.Errorf("the format is %q", format)
		}
	})
}

func TestAPausedQueueTakesJobs(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		d.native()
		d.must(d.queue.Pause(t.Context(), "", ""))
		if id := d.add("a", queue.Options{}); d.get(id).State != queue.Waiting {
			t.Error("the job does not wait")
		}
	})
}

func TestAnotherFormatIsRefusedNativelyAndByTheNextLook(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		refused := func(when string) {
			t.Helper()
			_, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: "q"})
			var format *queue.FormatError
			if !errors.As(err, &format) || format.Version != "3" {
				t.Errorf("%s: %v", when, err)
			}
		}
		d.native()
		d.must(db.HSet(t.Context(), d.key("meta"), "format", "3").Err())
		d.must(db.Rename(t.Context(), d.key("2:normal:fresh"), d.key("3:normal:fresh")).Err())
		refused("the lines have other names")
		if n := db.Exists(t.Context(), d.key("2:normal:fresh")).Val(); n != 0 {
			t.Error("a line was created")
		}
		d.must(db.Rename(t.Context(), d.key("3:normal:fresh"), d.key("2:normal:fresh")).Err())
		d.queue.SetSettingsAge(150 * time.Millisecond)
		_, _ = d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: "q"}) // looks
		refused("the settings have another format")
		d.queue.SetSettingsAge(time.Hour)
		refused("the client did not look for long")
	})
}

func TestAFullRedisRefusesPlainJobs(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0))
	d := setup(t, db)
	for _, age := range []time.Duration{-time.Hour, time.Hour} { // natively, by the script
		d.add("a", queue.Options{})
		d.must(db.ConfigSet(t.Context(), "maxmemory", "1").Err())
		d.queue.SetSettingsAge(age)
		_, err := d.client.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: "q"})
		var unknown *rdb.OutcomeUnknownError
		if !redis.HasErrorPrefix(err, "OOM") || errors.As(err, &unknown) || !strings.HasPrefix(err.Error(), "queue q: enqueue: OOM") {
			t.Errorf("at an age of %s: %v", age, err)
		}
		d.must(db.ConfigSet(t.Context(), "maxmemory", "0").Err())
	}
	if ids := d.all(queue.Waiting, 10); len(ids) != 2 {
		t.Errorf("%d jobs wait, want 2", len(ids))
	}
}

func TestEveryJobAddedAfterKeepEventsHasItsEvent(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		busy, idle := setup(t, db), setup(t, db)
		busy.add("a", queue.Options{})
		idle.add("a", queue.Options{})
		var began sync.WaitGroup
		stop := make(chan struct{})
		began.Go(func() { // its settings stay fresh
			for {
				select {
				case <-stop:
					return
				default:
					busy.add("a", queue.Options{})
				}
			}
		})
		d.must(d.queue.KeepEvents(t.Context(), 10_000))
		idle.queue.SetSettingsAge(time.Hour)
		want := []string{d.add("later", queue.Options{}), idle.add("later", queue.Options{})}
		close(stop)
		began.Wait()
		for range 10 {
			want = append(want, busy.add("later", queue.Options{}))
		}
		enqueued := map[string]bool{}
		for after := ""; ; {
			events, next, err := d.queue.Events(t.Context(), after, 0)
			d.must(err)
			for _, event := range events {
				enqueued[event.Job] = true
			}
			if after = next; len(events) == 0 {
				break
			}
		}
		for _, id := range want {
			if !enqueued[id] {
				t.Errorf("job %s has no event", id)
			}
		}
	})
}
