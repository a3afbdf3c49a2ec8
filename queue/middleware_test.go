package queue_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"skidway/internal/redistest"
	"skidway/queue"
)

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
	client, err := queue.NewClient(redistest.DB(t), &queue.Config{Middleware: []queue.Middleware{around("outer"), around("inner"), tenant, refuse}})
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
		t.Errorf("a middleware that gave one result for two jobs: %+v", results)
	}
}
