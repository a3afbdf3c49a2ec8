package queue_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

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

// call returns n jobs of one call with a request key, which all have some options.
func call(key, digest string, n int, o queue.Options) (jobs []queue.NewJob) {
	o.Queue, o.RequestKey, o.RequestDigest = "q", key, digest
	for i := range n {
		jobs = append(jobs, queue.NewJob{Args: queue.Raw("a", fmt.Append(nil, i)), Options: o})
	}
	return jobs
}

func TestCallWithAKeyOfOtherJobsAddsNone(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	unique := queue.Options{Unique: queue.Unique{Key: "u"}}
	d.add("a", unique)
	waiting := func() int {
		depth, err := d.queue.Depth(t.Context())
		d.must(err)
		return depth.Waiting
	}
	for name, jobs := range map[string][]queue.NewJob{
		"one job": call("1", "d", 1, queue.Options{}), "one part": call("2", "d", 10, queue.Options{}),
		"duplicates in the first part": append(call("3", "d", 500, unique), call("3", "d", 1, queue.Options{})...),
	} {
		d.must(d.client.EnqueueMany(t.Context(), jobs)[len(jobs)-1].Err)
		before := waiting()
		var other *queue.DuplicateError
		results := d.client.EnqueueMany(t.Context(), call(jobs[0].Options.RequestKey, "other", 1200, queue.Options{}))
		if !errors.As(results[0].Err, &other) || other.Owner != "" || !errors.Is(results[1199].Err, queue.ErrNotSent) {
			t.Errorf("%s: %v … %v", name, results[0], results[1199])
		}
		if n := waiting(); n != before {
			t.Errorf("%s: %d jobs wait, want %d", name, n, before)
		}
	}
}

func TestRepeatedCallTakesThePartsOfTheFirst(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	short, long := queue.Options{}, queue.Options{MaxAttempts: 3, Delay: time.Hour}
	for key, options := range map[string][2]queue.Options{"longer": {short, long}, "shorter": {long, short}} {
		first, again := d.client.EnqueueMany(t.Context(), call(key, "d", 700, options[0])), d.client.EnqueueMany(t.Context(), call(key, "d", 700, options[1]))
		for i := range first {
			d.must(first[i].Err)
			if first[i].ID != again[i].ID || !again[i].Repeated || first[i].Repeated {
				t.Fatalf("%s: job %d is %+v, then %+v", key, i, first[i], again[i])
			}
		}
	}
}

func TestLostReplyOfACallWithAKeyLeavesItsOutcomeUnknown(t *testing.T) {
	t.Parallel()
	d, proxy := setupProxied(t)
	d.must(d.client.EnqueueMany(t.Context(), call("first", "d", 1, queue.Options{}))[0].Err) // the script is known
	lost := proxy.DropReply(1)
	results := d.client.EnqueueMany(t.Context(), call("k", "d", 700, queue.Options{}))
	<-lost
	var unknown *rdb.OutcomeUnknownError
	if !errors.As(results[0].Err, &unknown) || errors.As(results[699].Err, &unknown) || !errors.Is(results[699].Err, queue.ErrNotSent) {
		t.Errorf("%v … %v", results[0], results[699])
	}
}

func TestCallThatTheClientSendsAgainIsNotRepeated(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	d := setup(t, redistest.Open(t, proxy.URL))
	d.must(d.client.EnqueueMany(t.Context(), call("first", "d", 1, queue.Options{}))[0].Err)
	lost := proxy.DropReply(1)
	results := d.client.EnqueueMany(t.Context(), call("k", "d", 1, queue.Options{}))
	<-lost
	if results[0].Err != nil || results[0].Repeated {
		t.Errorf("%+v: no other call has added the job", results[0])
	}
}
