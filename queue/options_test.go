package queue_test

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

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
	borrowing := client(t, db, queue.Config{})
	if err := borrowing.Close(); err != nil {
		t.Fatal(err)
	}
	if err := db.Ping(t.Context()).Err(); err != nil || borrowing.DB() != db {
		t.Errorf("the caller's connection: %v", err)
	}
}
