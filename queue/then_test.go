package queue_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func next(kind string, o queue.Options) queue.NewJob {
	return queue.NewJob{Args: queue.Raw(kind, []byte(`{"of":"`+kind+`"}`)), Options: o}
}

func TestJobsThatFollowAreAddedWithTheSuccessOnly(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		for _, as := range []queue.Disposition{queue.AttemptDiscarded, queue.AttemptCancelled, queue.AttemptDead, queue.AttemptRetry, queue.AttemptSnoozed, queue.AttemptSucceeded} {
			d.add("first", queue.Options{Then: []queue.NewJob{next("second", queue.Options{})}})
			job := d.fetch(l, 1)[0]
			ending := queue.Completion{Job: job, Disposition: as, Reason: "because", Wait: time.Hour, Then: job.Then}
			for try := range 2 { // the answer may have been lost
				n, err := l.Finish(t.Context(), []queue.Completion{ending})
				d.must(err)
				if n != 1-try {
					t.Errorf("%s: try %d changed %d jobs", as, try, n)
				}
			}
			want := 0
			if as == queue.AttemptSucceeded {
				want = 1
			}
			if ids := d.all(queue.Waiting, 10); len(ids) != want {
				t.Errorf("%s: waiting are %v", as, ids)
			}
		}
		if job := d.fetch(l, 1)[0]; job.Kind != "second" || string(job.Args) != `{"of":"second"}` {
			t.Errorf("got %+v", job)
		}
		total, _, err := d.queue.Counters(t.Context(), 1)
		d.must(err)
		if total.Enqueued != 7 {
			t.Errorf("counted %v", total)
		}
	})
}

func TestJobThatFollowsMayTakeTheUniqueKeyOfItsPredecessor(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		key := queue.Unique{Key: "only one"}
		d.add("first", queue.Options{Unique: key, Then: []queue.NewJob{next("second", queue.Options{Unique: key, Delay: time.Minute, MaxAttempts: 3})}})
		l := d.lease("w")
		job := d.fetch(l, 1)[0]
		_, err := l.Finish(t.Context(), []queue.Completion{{Job: job, Disposition: queue.AttemptSucceeded, Then: job.Then}})
		d.must(err)
		ids := d.all(queue.Delayed, 10)
		if len(ids) != 1 || d.get(ids[0]).MaxAttempts != 3 {
			t.Fatalf("delayed are %v", ids)
		}
		var duplicate *queue.DuplicateError
		if _, err := d.client.Enqueue(t.Context(), queue.Raw("third", nil), &queue.Options{Queue: "q", Unique: key}); !errors.As(err, &duplicate) || duplicate.Owner != ids[0] {
			t.Errorf("the key is held by %v", err)
		}
	})
}

func TestJobThatFollowsAndIsADuplicateIsReported(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		d.must(d.queue.KeepEvents(t.Context(), 100))
		l := d.lease("w")
		key := queue.Options{Unique: queue.Unique{Key: "only one"}}
		first := d.add("first", queue.Options{Retain: time.Hour, Then: []queue.NewJob{next("second", key), next("third", queue.Options{}), next("fourth", key)}})
		job := d.fetch(l, 1)[0]
		owner := d.add("other", key)
		plain := d.add("plain", queue.Options{})
		jobs := append(d.fetch(l, 2)[1:], job)
		completions := []queue.Completion{{Job: jobs[0]}, {Job: job, Then: job.Then}}
		n, err := l.Finish(t.Context(), completions)
		d.must(err)
		if n != 2 || jobs[0].ID != plain || len(completions[0].Duplicates) != 0 {
			t.Errorf("%d changed: %+v", n, completions[0])
		}
		duplicates := completions[1].Duplicates
		if len(duplicates) != 2 || *duplicates[0] != (queue.DuplicateError{Key: "only one", Owner: owner}) || *duplicates[1] != *duplicates[0] {
			t.Errorf("the duplicates are %v", duplicates)
		}
		held := ` was not added: unique key "only one" is held by job ` + owner
		if job := d.get(first); job.Outcome != queue.Succeeded || job.Reason != "then[0]"+held+"; then[2]"+held {
			t.Errorf("it is %s: %s", job.Outcome, job.Reason)
		}
		total, _, err := d.queue.Counters(t.Context(), 0)
		d.must(err)
		if total.Enqueued != 4 || total.Duplicates != 2 || total.Succeeded != 2 {
			t.Errorf("counted %+v", total)
		}
		events, _, err := d.queue.Events(t.Context(), "", 0)
		d.must(err)
		events = slices.DeleteFunc(events, func(e queue.Event) bool { return e.Kind != queue.EventDuplicate })
		if len(events) != 2 || events[0].Job != first {
			t.Errorf("the events are %+v", events)
		}
	})
}

func TestJobIsDeadIfTheJobThatFollowsIsTooLarge(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	d := setup(t, db)
	d.client = client(t, db, queue.Config{MaxPayload: 200})
	d.queue, _ = d.client.ForPool("q")
	id := d.add("first", queue.Options{Then: []queue.NewJob{next("second", queue.Options{})}})
	l := d.lease("w")
	job := d.fetch(l, 1)[0]
	large := queue.NewJob{Args: queue.Raw("second", []byte(`"`+strings.Repeat("x", 300)+`"`))}
	_, err := l.Finish(t.Context(), []queue.Completion{{Job: job, Disposition: queue.AttemptSucceeded, Then: []queue.NewJob{large}}})
	d.must(err)
	if job := d.get(id); job.State != queue.Dead || !strings.Contains(job.Reason, "it succeeded, but") || !strings.Contains(job.Reason, "then[0]") {
		t.Errorf("it is %s: %s", job.State, job.Reason)
	}
}

func TestJobsOfOtherQueuesFollowByForwarding(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		d.add("first", queue.Options{Then: []queue.NewJob{next("second", queue.Options{Queue: "mail", Timeout: time.Minute})}})
		l := d.lease("w")
		job := d.fetch(l, 1)[0]
		_, err := l.Finish(t.Context(), []queue.Completion{{Job: job, Disposition: queue.AttemptSucceeded, Then: job.Then}})
		d.must(err)
		job = d.fetch(l, 1)[0]
		var args queue.Forwarding
		d.must(json.Unmarshal(job.Args, &args))
		if job.Kind != queue.Forward || args.Job.Args.Kind() != "second" || args.Job.Options.Queue != "mail" || args.Job.Options.Timeout != time.Minute {
			t.Errorf("got %s %s", job.Kind, job.Args)
		}
	})
}

func TestInvalidThenJobsAreRefusedWithTheirPlace(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	deep := queue.Options{}
	for range 17 {
		deep = queue.Options{Then: []queue.NewJob{next("k", deep)}}
	}
	for name, c := range map[string]struct {
		then []queue.NewJob
		want string
	}{
		"kind":       {[]queue.NewJob{next("k", queue.Options{}), next("no kind", queue.Options{})}, "then[1]"},
		"queue":      {[]queue.NewJob{next("k", queue.Options{Queue: "no queue"})}, "then[0]"},
		"no args":    {[]queue.NewJob{{}}, "args are nil"},
		"no JSON":    {[]queue.NewJob{{Args: queue.Raw("k", []byte("{"))}}, "not JSON"},
		"too many":   {make([]queue.NewJob, 17), "at most 16"},
		"too deep":   {deep.Then, "at most 16"},
		"at a level": {[]queue.NewJob{next("k", queue.Options{Then: []queue.NewJob{next("k", queue.Options{Delay: -1})}})}, "then[0]: then[0]: "},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := d.client.Enqueue(t.Context(), queue.Raw("k", nil), &queue.Options{Queue: "q", Then: c.then})
			if !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestJobFromAnotherLanguageMayHaveThenJobs(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		d.must(db.Do(t.Context(), "XADD", d.key("2:normal:fresh"), "*", "kind", "first", "args", "{}", "then", `[{"kind":"second","in":"1h"}]`).Err())
		l := d.lease("w")
		job := d.fetch(l, 1)[0]
		_, err := l.Finish(t.Context(), []queue.Completion{{Job: job, Disposition: queue.AttemptSucceeded, Then: job.Then}})
		d.must(err)
		if ids := d.all(queue.Delayed, 10); len(ids) != 1 {
			t.Errorf("delayed are %v", ids)
		}
	})
}

func TestNewJobIsTheSameAfterJSON(t *testing.T) {
	t.Parallel()
	whole := queue.NewJob{Args: queue.Raw("email.send", []byte(`{"to":"a@example.com"}`)), Options: queue.Options{
		Queue: "mail", Priority: queue.High, Delay: 90 * time.Second, MaxAttempts: 3, Timeout: time.Minute,
		Deadline: time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC), Retain: time.Hour, Headers: map[string]string{"a": "b"},
		Unique: queue.Unique{Key: "k", Scope: queue.ForDuration, For: time.Hour},
		Then:   []queue.NewJob{{Args: queue.Raw("k", []byte(`{}`)), Options: queue.Options{Unique: queue.Unique{Key: "k", Scope: queue.WhileWaiting}}}},
	}}
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	var again queue.NewJob
	if err := json.Unmarshal(text, &again); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(whole, again) {
		t.Errorf("%s became\n%+v, want\n%+v", text, again, whole)
	}
}

func TestInvalidJSONOfAJobIsRefusedWithTheField(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"args":{}}`:                                     "kind",
		`{"kind":"k","prio":"high"}`:                      "prio",
		`{"kind":"k","priority":"urgent"}`:                "urgent",
		`{"kind":"k","in":"soon"}`:                        "length of time",
		`{"kind":"k","at":"tomorrow"}`:                    "tomorrow",
		`{"kind":"k","unique":"u","unique_scope":"ever"}`: "ever",
		`{"kind":"k","then":[{"args":{}}]}`:               "kind",
		`[]`:                                              "array",
	} {
		var i queue.NewJob
		if err := json.Unmarshal([]byte(text), &i); !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

// Any client can write such a job: decoding each level again took a worker half a
// minute.
func TestTooDeepThenIsDecodedOnceAndRefused(t *testing.T) {
	t.Parallel()
	const depth = 4000
	text := strings.Repeat(`{"kind":"k","then":[`, depth) + `{"kind":"k","args":"` + strings.Repeat("x", 800_000) + `"}` + strings.Repeat(`]}`, depth)
	begin := time.Now()
	var i queue.NewJob
	if err := json.Unmarshal([]byte(text), &i); !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), "at most 16") {
		t.Errorf("got %v", err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("it took %s", took)
	}
}

func FuzzNewJobJSON(f *testing.F) {
	f.Add([]byte(`{"kind":"k","args":{},"in":"1s","then":[{"kind":"l","unique":"u","unique_for":"1h"}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		var i queue.NewJob
		if json.Unmarshal(text, &i) != nil {
			return
		}
		again, err := json.Marshal(i)
		if err != nil {
			if errors.Is(err, queue.ErrInvalid) || strings.Contains(err.Error(), "year outside") {
				return
			}
			t.Fatal(err)
		}
		var second queue.NewJob
		if err := json.Unmarshal(again, &second); err != nil {
			t.Fatalf("%s became %s: %v", text, again, err)
		}
	})
}
