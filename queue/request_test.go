package queue_test

import (
	"errors"
	"fmt"
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestCallWithARequestKeyAddsItsJobsOnce(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		var jobs []queue.NewJob
		for i := range 600 {
			o := queue.Options{Queue: "q", RequestKey: "k", RequestDigest: "d", Priority: queue.Priority(i%3 - 1)}
			jobs = append(jobs, queue.NewJob{Args: queue.Raw("a", fmt.Append(nil, i)), Options: o})
		}
		first, again := d.client.EnqueueMany(t.Context(), jobs), d.client.EnqueueMany(t.Context(), jobs)
		for i := range jobs {
			d.must(first[i].Err)
			d.must(again[i].Err)
			if first[i].Repeated || !again[i].Repeated || first[i].ID != again[i].ID {
				t.Fatalf("job %d is %+v, then %+v", i, first[i], again[i])
			}
		}
		one := jobs[0]
		one.Options.RequestDigest = "other"
		var duplicate *queue.DuplicateError
		if _, err := d.client.Enqueue(t.Context(), one.Args, &one.Options); !errors.As(err, &duplicate) || duplicate.Owner != "" {
			t.Errorf("%v, want a DuplicateError without an owner", err)
		}
		if n := len(d.all(queue.Waiting, 1000)); n != 600 {
			t.Errorf("%d jobs wait", n)
		}
	})
}

func TestJobsOfACallHaveOneRequestKey(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	job := func(queueName, key string) queue.NewJob {
		return queue.NewJob{Args: queue.Raw("a", []byte("{}")), Options: queue.Options{Queue: queueName, RequestKey: key}}
	}
	for name, jobs := range map[string][]queue.NewJob{
		"other key": {job("q", "k"), job("q", "l")}, "no key": {job("q", "k"), job("q", "")}, "other queue": {job("q", "k"), job("p", "k")},
	} {
		if results := d.client.EnqueueMany(t.Context(), jobs); !errors.Is(results[1].Err, queue.ErrInvalid) {
			t.Errorf("%s: %+v", name, results)
		}
	}
	parent := job("q", "")
	parent.Options.Then = []queue.NewJob{job("", "k")}
	if err := d.client.Validate(parent); !errors.Is(err, queue.ErrInvalid) {
		t.Errorf("a job that follows has a request key: %v", err)
	}
}
