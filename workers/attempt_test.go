package workers_test

import (
	"context"
	"errors"
	"testing"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestAttemptCallsTheHandlerAndWritesNothing(t *testing.T) {
	t.Parallel()
	db := redistest.DB(t)
	c, err := queue.New(db, queue.Config{})
	if err != nil {
		t.Fatal(err)
	}
	p, err := workers.New(db, c, workers.Config{})
	if err != nil {
		t.Fatal(err)
	}
	type key struct{}
	p.Handle("k", func(ctx context.Context, _ *queue.Job) error {
		workers.SetResult(ctx, []byte("half"))
		<-ctx.Done()
		if ctx.Value(key{}) != "value" {
			t.Error("the caller's values are not in the handler's context")
		}
		return context.Cause(ctx)
	}, workers.Kind{})
	ctx, end := context.WithCancelCause(context.WithValue(t.Context(), key{}, "value"))
	end(workers.ErrShutdown)
	job := &queue.Job{Kind: "k", Queue: "q"}
	ending, err := p.Attempt(ctx, job)
	if !errors.Is(err, workers.ErrShutdown) || ending.As != queue.AsReturned || ending.Job != job || ending.Result != nil {
		t.Errorf("got %+v, %v; a job that has not succeeded has no result", ending, err)
	}
	p.Handle("whole", func(ctx context.Context, _ *queue.Job) error { return workers.SetResult(ctx, []byte("all")) }, workers.Kind{})
	whole := &queue.Job{Kind: "whole", Queue: "q"}
	ending, err = p.Attempt(t.Context(), whole)
	if err != nil || ending.As != queue.AsSucceeded || ending.Job != whole || string(ending.Result) != "all" {
		t.Errorf("got %+v, %v", ending, err)
	}
	if n := db.DBSize(t.Context()).Val(); n != 0 {
		t.Errorf("Redis has %d keys", n)
	}
}
