package workerstest_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"skidway/queue"
	"skidway/workers/workerstest"
)

func TestEnqueuedReturnsTheAddedJobs(t *testing.T) {
	t.Parallel()
	tag := func(ctx context.Context, inserts []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
		for i := range inserts {
			inserts[i].Options.Headers = map[string]string{"tenant": "a"}
		}
		return next(ctx, inserts)
	}
	w := workerstest.New(t, &workerstest.Config{Client: queue.Config{Middleware: []queue.Middleware{tag}}})
	succeed(w, "email.send", "other")
	enqueue(t, w, sendEmail{"ann"}, queue.Options{})
	enqueue(t, w, queue.Raw("other", nil), queue.Options{})
	w.Drain()
	enqueue(t, w, sendEmail{"bob"}, queue.Options{Queue: "mail", Delay: time.Hour})
	if got := workerstest.EnqueuedArgs[sendEmail](w); !slices.Equal(got, []sendEmail{{"ann"}, {"bob"}}) {
		t.Errorf("the args are %v", got)
	}
	jobs := w.Enqueued("email.send")
	if len(jobs) != 2 || jobs[0].State != queue.Waiting || jobs[1].State != queue.Delayed || jobs[1].Queue != "mail" || jobs[1].Headers["tenant"] != "a" {
		t.Errorf("the jobs are %+v", jobs)
	}
	if n := len(w.Enqueued("")); n != 3 {
		t.Errorf("%d of all kinds, want 3", n)
	}
}
