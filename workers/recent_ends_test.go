package workers

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"skidway/queue"
)

func endsOf(ids ...string) (ends []queue.Completion) {
	for _, job := range jobs(ids...) {
		ends = append(ends, queue.Completion{Job: job})
	}
	return ends
}

func TestRecentEndsAreBoundedByAgeNumberAndBytes(t *testing.T) {
	t.Parallel()
	session, now := newTestSession(&servedQueue{}), time.Now()
	var r recentEnds
	r.add(session, endsOf("old"), now)
	r.add(session, endsOf("1", "2"), now.Add(keepEnds))
	if n := len(r.of(session)); n != 3 {
		t.Errorf("%d are kept, want 3", n)
	}
	r.add(session, endsOf("3"), now.Add(keepEnds+1))
	if ends := r.of(session); len(ends) != 3 || ends["old"] != nil {
		t.Errorf("kept: %v", ends)
	}
	for _, id := range []string{"large", "larger"} {
		ends := endsOf(id)
		ends[0].Job.Args, ends[0].Result = make([]byte, maxEndBytes/2), []byte("r")
		r.add(session, ends, now.Add(keepEnds+1))
	}
	if ends := r.of(session); len(ends) != 1 || ends["larger"] == nil {
		t.Errorf("beside a large one %d are kept", len(ends))
	}
	follower := []queue.NewJob{{Args: queue.Raw("k", []byte(`"`+strings.Repeat("a", maxEndBytes/2)+`"`)), Options: queue.Options{Headers: map[string]string{"a": "b"}}}}
	for id, end := range map[string]queue.Completion{
		"then":    {Then: follower},
		"of then": {Job: &queue.Job{Then: []queue.NewJob{{Args: queue.Raw("k", nil), Options: queue.Options{Then: follower}}}}},
		"headers": {Job: &queue.Job{Headers: map[string]string{"a": strings.Repeat("b", maxEndBytes/2)}}},
	} {
		ends := endsOf(id)
		if ends[0].Then = end.Then; end.Job != nil {
			ends[0].Job.Then, ends[0].Job.Headers = end.Job.Then, end.Job.Headers
		}
		r.add(session, ends, now.Add(keepEnds+1))
		if ends := r.of(session); len(ends) != 1 || ends[id] == nil {
			t.Errorf("%s: beside a large one %d are kept", id, len(ends))
		}
	}
	many := make([]string, maxEnds)
	for i := range many {
		many[i] = fmt.Sprint(i)
	}
	r.add(session, endsOf(many...), now.Add(keepEnds+1))
	if n := len(r.of(session)); n != maxEnds || r.count != maxEnds {
		t.Errorf("%d are kept, %d counted, %d bytes", n, r.count, r.size)
	}
	r.add(session, endsOf("one too many"), now.Add(keepEnds+1))
	if n := len(r.of(session)); n != 1 || r.count != 1 || len(r.batches) != 1 {
		t.Errorf("above the maximum %d are kept, %d counted, in %d batches", n, r.count, len(r.batches))
	}
}

func TestEndsOfOtherSessionsAndQuarantinedJobsAreNotWrittenAgain(t *testing.T) {
	t.Parallel()
	session, now := newTestSession(&servedQueue{}), time.Now()
	var r recentEnds
	ends := endsOf("ended", "quarantined", "handed back")
	ends[1].Job.Group = "g"
	ends[2].Disposition = queue.AttemptReturned
	r.add(session, ends, now)
	r.add(newTestSession(&servedQueue{}), endsOf("of another session"), now)
	if ends := r.of(session); len(ends) != 1 || ends["ended"] == nil {
		t.Errorf("kept: %v", ends)
	}
}

func TestOnlyTheJobThatHasEndedIsEndedAgain(t *testing.T) {
	t.Parallel()
	s := newTestSession(&servedQueue{})
	ended := func() *queue.Job { return &queue.Job{ID: "1", Kind: "k", Args: []byte("a")} }
	s.restored = map[string][]queue.Completion{"1": {{Job: ended()}}}
	for what, change := range map[string]func(*queue.Job){
		"kind": func(job *queue.Job) { job.Kind = "l" },
		"args": func(job *queue.Job) { job.Args = []byte("b") },
	} {
		job := ended()
		change(job)
		held := s.hold([]*queue.Job{job})
		if len(held) != 1 {
			t.Fatalf("a job of the same entry with another %s does not run", what)
		}
		s.forget([]queue.Completion{{Job: job}})
	}
	if held := s.hold([]*queue.Job{ended()}); len(held) != 0 {
		t.Error("the job that has ended runs again")
	}
	if len(s.completer.pending) != 1 || s.held["1"] == nil {
		t.Errorf("to be written: %v", s.completer.pending)
	}
}
