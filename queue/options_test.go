package queue_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// withDefaults are args whose jobs have options, or none for a nil pointer.
type withDefaults struct{ defaults *queue.Options }

func (withDefaults) Kind() string { return "with.defaults" }

func (a withDefaults) Options() *queue.Options { return a.defaults }

func TestOptionsOfArgsFillWhatTheCallerLeavesOut(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		args := withDefaults{&queue.Options{
			Queue: "q", Priority: queue.High, Delay: time.Hour, MaxAttempts: 3, Timeout: time.Minute, Retain: time.Hour,
			Unique: queue.Unique{Key: "k"}, Headers: map[string]string{"a": "b"}, Then: []queue.NewJob{next("second", queue.Options{})},
		}}
		id, err := d.client.Enqueue(t.Context(), args, nil)
		d.must(err)
		job := d.get(id)
		if job.Queue != "q" || job.Priority != queue.High || job.State != queue.Delayed || job.MaxAttempts != 3 || job.Timeout != time.Minute ||
			job.Retain != time.Hour || job.Unique.Key != "k" || job.Headers["a"] != "b" || len(job.Then) != 1 {
			t.Errorf("the job is %+v", job)
		}
		at := time.Now().Add(-time.Minute)
		results := d.client.EnqueueMany(t.Context(), []queue.NewJob{{Args: args, Options: queue.Options{
			Priority: queue.Low, At: at, MaxAttempts: 5, Unique: queue.Unique{Key: "other"}, Headers: map[string]string{},
		}}})
		d.must(results[0].Err)
		job = d.get(results[0].ID)
		if job.Queue != "q" || job.Priority != queue.Low || job.State != queue.Waiting || job.MaxAttempts != 5 || job.Timeout != time.Minute ||
			job.Unique.Key != "other" || len(job.Headers) != 0 {
			t.Errorf("the job is %+v", job)
		}
	})
}

type optionsByValue struct{}

func (optionsByValue) Kind() string           { return "by.value" }
func (optionsByValue) Options() queue.Options { return queue.Options{MaxAttempts: 3} }

type optionsOfPointer struct{}

func (optionsOfPointer) Kind() string             { return "of.pointer" }
func (*optionsOfPointer) Options() *queue.Options { return &queue.Options{MaxAttempts: 3} }

func TestArgsWhoseMethodOptionsWouldBeIgnoredAreRefused(t *testing.T) {
	t.Parallel()
	client := client(t, redistest.DB(t), queue.Config{})
	for _, args := range []queue.Args{optionsByValue{}, &optionsByValue{}, optionsOfPointer{}} {
		for range 2 { // the second time by the remembered result
			_, err := client.Enqueue(t.Context(), args, nil)
			if !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), "Options() *queue.Options") {
				t.Errorf("%T: %v", args, err)
			}
			then := queue.Options{Then: []queue.NewJob{{Args: args}}}
			if err := client.Validate(queue.NewJob{Args: withDefaults{}, Options: then}); !errors.Is(err, queue.ErrInvalid) {
				t.Errorf("%T as a job that follows: %v", args, err)
			}
		}
	}
	if _, err := client.Enqueue(t.Context(), &optionsOfPointer{}, nil); err != nil {
		t.Errorf("a pointer with the right method: %v", err)
	}
}

func TestOptionsOfArgsApplyToJobsThatFollow(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(queue.NewJob{Args: withDefaults{&queue.Options{MaxAttempts: 3}}})
	if err != nil {
		t.Fatal(err)
	}
	var job queue.NewJob
	if err := json.Unmarshal(text, &job); err != nil || job.Options.MaxAttempts != 3 {
		t.Errorf("%s is %+v, %v", text, job, err)
	}
	client := client(t, redistest.DB(t), queue.Config{})
	wrong := []queue.NewJob{{Args: withDefaults{&queue.Options{Delay: -1}}}}
	if err := client.Validate(queue.NewJob{Args: withDefaults{}, Options: queue.Options{Then: wrong}}); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("a negative delay of a job that follows: %v", err)
	}
}

func TestCloseClosesOnlyTheConnectionThatOpenMade(t *testing.T) {
	t.Parallel()
	opened, err := queue.Open(t.Context(), "embedded:", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := opened.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := opened.Queues(t.Context()); err == nil {
		t.Error("a closed client lists queues")
	}
	db := redistest.DB(t)
	connection := handle.New(db)
	borrowing, err := queue.NewClient(connection, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := borrowing.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()).Err(); err != nil || borrowing.DB() != connection {
		t.Errorf("the caller's connection: %v", err)
	}
}

func TestMiddlewareMayChangeRefuseAndInspectJobs(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	var order []string
	around := func(name string) queue.Middleware {
		return func(ctx context.Context, inserts []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
			order = append(order, name)
			results := next(ctx, inserts)
			order = append(order, name+" again")
			return results
		}
	}
	tenant := func(ctx context.Context, inserts []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
		for i := range inserts {
			inserts[i].Options.Headers = map[string]string{"tenant": "7"}
		}
		return next(ctx, inserts)
	}
	forbidden := errors.New("not in this house")
	refuse := func(ctx context.Context, inserts []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
		if inserts[0].Args.Kind() == "bad" {
			return []queue.Result{{Err: forbidden}} // for the first only
		}
		return next(ctx, inserts)
	}
	client, err := queue.NewClient(handle.New(redistest.DB(t)), &queue.Config{Middleware: []queue.Middleware{around("outer"), around("inner"), tenant, refuse}})
	if err != nil {
		t.Fatal(err)
	}
	id, err := client.Enqueue(ctx, queue.Raw("good", nil), nil)
	if err != nil {
		t.Fatal(err)
	}
	job, err := client.Get(ctx, id)
	if err != nil || job.Headers["tenant"] != "7" {
		t.Errorf("the job has headers %v, %v", job.Headers, err)
	}
	if want := []string{"outer", "inner", "inner again", "outer again"}; !slices.Equal(order, want) {
		t.Errorf("middleware was called as %v, want %v", order, want)
	}
	if _, err := client.Enqueue(ctx, queue.Raw("bad", nil), nil); !errors.Is(err, forbidden) {
		t.Errorf("the refused job: %v", err)
	}
	results := client.EnqueueMany(ctx, []queue.NewJob{{Args: queue.Raw("bad", nil)}, {Args: queue.Raw("good", nil)}})
	if len(results) != 2 || !errors.Is(results[0].Err, forbidden) || results[1].Err == nil {
		t.Errorf("a middleware that returned one result for two jobs: %+v", results)
	}
}
