package queue_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// A fixture is a client and one of its queues.
type fixture struct {
	testing.TB
	db     *rdb.DB
	client *queue.Client
	queue  *queue.PoolQueue
}

func setup(t testing.TB, db *rdb.DB) *fixture {
	t.Helper()
	c := client(t, db, queue.Config{})
	q, err := c.ForPool("q")
	if err != nil {
		t.Fatal(err)
	}
	return &fixture{t, db, c, q}
}

// setupProxied is setup for a client that reaches Redis through a proxy and does not wait for
// it.
func setupProxied(t *testing.T) (*fixture, *redistest.Proxy) {
	t.Helper()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	return setup(t, redistest.OpenOnce(t, proxy.URL)), proxy
}

// key returns the name of one of the queue's keys.
func (d *fixture) key(name string) string { return d.db.Prefix() + ":{q:0}:" + name }

// must fails the test on an error.
func (d *fixture) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatal(err)
	}
}

// add enqueues a job of a kind.
func (d *fixture) add(kind string, o queue.Options) string {
	d.Helper()
	o.Queue = "q"
	id, err := d.client.Enqueue(d.Context(), queue.Raw(kind, []byte(`{"of":"`+kind+`"}`)), &o)
	d.must(err)
	return id
}

// lease returns a long lease, which the first fetch opens.
func (d *fixture) lease(worker string) *queue.Lease {
	d.Helper()
	l, err := d.queue.NewLease(worker, time.Minute)
	d.must(err)
	return l
}

// close closes a lease.
func (d *fixture) close(l *queue.Lease) {
	d.Helper()
	_, err := l.Close(d.Context())
	d.must(err)
}

// fetch fetches n jobs; the test fails if there are fewer.
func (d *fixture) fetch(l *queue.Lease, n int) []*queue.Job {
	d.Helper()
	fetched, err := l.Fetch(d.Context(), queue.FetchLimits{Jobs: n, Bytes: 1 << 20, Quarantined: n})
	d.must(err)
	if len(fetched.Jobs) != n {
		d.Fatalf("fetched %d jobs, want %d", len(fetched.Jobs), n)
	}
	return fetched.Jobs
}

// end finishes jobs with a disposition.
func (d *fixture) end(l *queue.Lease, disposition queue.Disposition, jobs ...*queue.Job) {
	d.Helper()
	var completions []queue.Completion
	for _, job := range jobs {
		completions = append(completions, queue.Completion{Job: job, Disposition: disposition, Reason: "because", Wait: time.Hour, Result: []byte("fine")})
	}
	n, err := l.Finish(d.Context(), completions)
	d.must(err)
	if n != len(jobs) {
		d.Fatalf("finished %d of %d jobs", n, len(jobs))
	}
}

// get reads a job.
func (d *fixture) get(id string) *queue.Job {
	d.Helper()
	job, err := d.client.Get(d.Context(), id)
	d.must(err)
	return job
}

// bury adds a job that fails for good.
func (d *fixture) bury(kind string, o queue.Options) string {
	d.Helper()
	o.Priority = queue.High // so that it is fetched first
	id := d.add(kind, o)
	l := d.lease(fmt.Sprintf("burying-%d", time.Now().UnixNano()))
	d.end(l, queue.AttemptDead, d.fetch(l, 1)...)
	d.close(l)
	return id
}

// all returns the ids of all jobs of a state, read in pages of limit jobs.
func (d *fixture) all(state queue.State, limit int) []string {
	d.Helper()
	var ids []string
	for o := (queue.ListOptions{Limit: limit}); ; {
		page, err := d.queue.List(d.Context(), state, &o)
		d.must(err)
		for _, job := range page.Jobs {
			ids = append(ids, job.ID)
		}
		if o.Cursor = page.Next; o.Cursor == "" {
			return ids
		}
	}
}

// soon returns a context that ends before a test hangs forever.
func soon(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func TestMain(m *testing.M) { redistest.Main(m) }

// changeAll changes the jobs of a state and some kinds (none: all), as an operation, and returns
// their number.
func changeAll(ctx context.Context, db *rdb.DB, q *queue.Queue, do string, state queue.State, kinds ...string) (int, error) {
	now, err := db.Time(ctx).Result()
	if err != nil {
		return 0, err
	}
	call := queue.OperationCall{Do: "begin", Owner: rand.Text(), Turn: time.Minute, MaxAge: time.Hour, Max: 100}
	op, err := q.Operate(ctx, queue.Operation{Do: do, State: state, AsOf: now.Add(time.Millisecond), AtLeast: true}, call)
	for err == nil && op.Status == "running" && op.Refused == "" {
		call.Step, call.Do, call.Jobs = op.Step+1, "step", nil
		if do == "delete" && state == queue.Waiting && len(kinds) == 0 {
			call.Do = "purge"
		} else {
			page, err := q.Read(ctx, state, op.Cursor, 100, time.Time{})
			if err != nil {
				return op.Changed, err
			}
			for _, job := range page.Jobs {
				if len(kinds) == 0 || slices.Contains(kinds, job.Kind) {
					call.Jobs = append(call.Jobs, job.ID)
				}
			}
			call.Cursor, call.Done, call.Examined = page.Next, page.Next == "", len(page.Jobs)
		}
		op, err = q.Operate(ctx, op, call)
	}
	if op.Refused != "" {
		err = errors.New(op.Refused)
	}
	return op.Changed, err
}

// changeAll is changeAll for the fixture's queue.
func (d *fixture) changeAll(do string, state queue.State, kinds ...string) (int, error) {
	return changeAll(d.Context(), d.db, d.queue.Queue, do, state, kinds...)
}
