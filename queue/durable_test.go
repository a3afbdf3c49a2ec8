package queue_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func durable(kind string, o queue.Options) queue.NewJob {
	o.Queue, o.Durable = "q", true
	return queue.NewJob{Args: queue.Raw(kind, []byte("{}")), Options: o}
}

func TestDurableJobIsNotAddedWhereNothingConfirmsIt(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		for _, o := range []queue.Options{{}, {Delay: time.Hour}} {
			job := durable("a", o)
			id, err := d.client.Enqueue(t.Context(), job.Args, &job.Options)
			var unfit *skidway.UnfitServerError
			if !errors.As(err, &unfit) || id != "" {
				t.Errorf("%q %v, want an UnfitServerError", id, err)
			}
		}
		if jobs := append(d.all(queue.Waiting, 10), d.all(queue.Delayed, 10)...); len(jobs) > 0 {
			t.Errorf("jobs %q were added", jobs)
		}
	})
}

func TestDurableJobsAreOnTheReplicaWhenTheCallReturns(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.Open(t, redistest.Start(t).URL(0)))
	replica := setup(t, redistest.Open(t, redistest.StartReplicas(t, d.db)[0].URL(0)))
	wanted := func(id string, err error) {
		t.Helper()
		d.must(err)
		replica.get(id)
	}
	for _, o := range []queue.Options{{}, {MaxAttempts: 3}, {Delay: time.Hour}} {
		job := durable("a", o)
		wanted(d.client.Enqueue(t.Context(), job.Args, &job.Options))
	}
	for _, result := range d.client.EnqueueMany(t.Context(), []queue.NewJob{durable("a", queue.Options{}), durable("b", queue.Options{Retain: time.Hour})}) {
		wanted(result.ID, result.Err)
	}
	defaults := withDefaults{&queue.Options{Queue: "q", Durable: true}}
	wanted(d.client.Enqueue(t.Context(), defaults, nil))

	key := durable("a", queue.Options{Unique: queue.Unique{Key: "k"}})
	wanted(d.client.Enqueue(t.Context(), key.Args, &key.Options))
	var duplicate *queue.DuplicateError
	if _, err := d.client.Enqueue(t.Context(), key.Args, &key.Options); !errors.As(err, &duplicate) {
		t.Errorf("%v, want a DuplicateError", err)
	}
}

// Redis confirms that from version 7.2 on; older ones refuse the jobs.
func TestDurableJobsOutliveTheirServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t, "--appendonly", "yes")
	d := setup(t, redistest.Open(t, server.URL(0)))
	text, err := d.db.Info(t.Context(), "server").Result()
	d.must(err)
	one := durable("a", queue.Options{Delay: time.Hour})
	id, err := d.client.Enqueue(t.Context(), one.Args, &one.Options)
	if strings.HasPrefix(rdb.ParseInfo(text)["redis_version"], "7.0.") {
		var unfit *skidway.UnfitServerError
		if !errors.As(err, &unfit) || id != "" {
			t.Errorf("%q %v, want an UnfitServerError", id, err)
		}
		return
	}
	d.must(err)
	ids := []string{id}
	for _, result := range d.client.EnqueueMany(t.Context(), slices.Repeat([]queue.NewJob{durable("b", queue.Options{})}, 501)) {
		d.must(result.Err)
		ids = append(ids, result.ID)
	}
	server.Kill()
	d.must(server.Restart())
	for _, id := range ids {
		d.get(id)
	}
}

func TestUnconfirmedJobHasItsID(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t).URL(0))
	d := setup(t, db)
	if err := syscall.Kill(redistest.StartReplicas(t, db)[0].PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	d.client = client(t, db, queue.Config{DurableTimeout: 20 * time.Millisecond})
	unconfirmed := func(id string, err error) {
		t.Helper()
		var unconfirmed *skidway.UnconfirmedError
		if !errors.As(err, &unconfirmed) || unconfirmed.ID != "job "+id || !strings.Contains(err.Error(), id) {
			t.Fatalf("%q %v, want an UnconfirmedError with the id", id, err)
		}
		if state := d.get(id).State; state != queue.Waiting {
			t.Errorf("the job is %s", state)
		}
	}
	one := durable("a", queue.Options{})
	unconfirmed(d.client.Enqueue(t.Context(), one.Args, &one.Options))

	// Jobs of one round trip: those that need no confirmation have no error. The next
	// round trip is not made.
	jobs := []queue.NewJob{durable("a", queue.Options{}), {Args: queue.Raw("a", nil), Options: queue.Options{Queue: "q"}}}
	for len(jobs) < 501 {
		jobs = append(jobs, durable("a", queue.Options{}))
	}
	results := d.client.EnqueueMany(t.Context(), jobs)
	unconfirmed(results[0].ID, results[0].Err)
	d.must(results[1].Err)
	if last := results[500]; !errors.Is(last.Err, queue.ErrNotSent) || last.ID != "" {
		t.Errorf("%+v, want ErrNotSent", last)
	}
	if n := len(d.all(queue.Waiting, 500)); n != 501 {
		t.Errorf("%d jobs wait, want 501", n)
	}
}

func TestWaitForAConfirmationDoesNotDelayOtherJobs(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t).URL(0))
	d, replica := setup(t, db), redistest.StartReplicas(t, db)[0]
	d.client = client(t, db, queue.Config{DurableTimeout: 20 * time.Second})
	if err := syscall.Kill(replica.PID(), syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		job := durable("a", queue.Options{})
		_, err := d.client.Enqueue(t.Context(), job.Args, &job.Options)
		ended <- err
	}()
	for range 100 {
		d.add("b", queue.Options{})
	}
	select {
	case err := <-ended:
		t.Errorf("the call ended before a replica could confirm: %v", err)
	default:
	}
	if err := syscall.Kill(replica.PID(), syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	d.must(<-ended)
}

func TestOnlyJobsThatAClientAddsCanBeDurable(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	then := queue.NewJob{Args: queue.Raw("a", []byte("{}")), Options: queue.Options{Then: []queue.NewJob{durable("b", queue.Options{})}}}
	if err := d.client.Validate(then); !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), "then[0]") {
		t.Errorf("a job that follows: %v", err)
	}
	then.Options.Then = []queue.NewJob{{Args: withDefaults{&queue.Options{Durable: true}}}} // a default is for the calls of clients
	d.must(d.client.Validate(then))
	if text, err := json.Marshal(then); err != nil || strings.Contains(string(text), "durable") {
		t.Errorf("%s %v", text, err)
	}
	schedule := queue.CronSchedule{Name: "s", Expr: "@hourly", Queue: "q", Kind: "a", Options: queue.Options{Durable: true}}
	if err := schedule.Validate(); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("a schedule: %v", err)
	}
	if _, err := queue.NewClient(d.client.DB(), &queue.Config{DurableTimeout: time.Microsecond}); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("a timeout of a microsecond: %v", err)
	}
}

func TestDurableIsAnOptionOfJobsAsJSON(t *testing.T) {
	t.Parallel()
	var job queue.NewJob
	if err := json.Unmarshal([]byte(`{"kind":"a","durable":true}`), &job); err != nil || !job.Options.Durable {
		t.Errorf("%+v %v", job, err)
	}
	if text, err := json.Marshal(job); err != nil || !strings.Contains(string(text), `"durable":true`) {
		t.Errorf("%s %v", text, err)
	}
}
