package metrics_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers/metrics"
)

// withQueue are args with a queue.
type withQueue struct{}

func (withQueue) Kind() string { return "with-queue" }

func (withQueue) Options() *queue.Options { return &queue.Options{Queue: "of-args"} }

// unconfirmed is middleware that makes the jobs of kind "unconfirmed" end like durable ones that
// are not confirmed.
func unconfirmed(ctx context.Context, jobs []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
	results := next(ctx, jobs)
	for i := range results {
		if jobs[i].Args.Kind() == "unconfirmed" {
			results[i].Err = &skidway.UnconfirmedError{Op: "enqueue"}
		}
	}
	return results
}

func TestJobsAreCountedIfTheCallHasAddedThem(t *testing.T) {
	t.Parallel()
	var m *metrics.Metrics
	client, err := queue.NewClient(handle.New(redistest.DB(t)), &queue.Config{Middleware: []queue.Middleware{
		func(ctx context.Context, jobs []queue.NewJob, next func(context.Context, []queue.NewJob) []queue.Result) []queue.Result {
			return m.Enqueue(ctx, jobs, next)
		},
		unconfirmed,
	}})
	if err != nil {
		t.Fatal(err)
	}
	m = metrics.New(client)
	add := func(args queue.Args, o queue.Options) error {
		_, err := client.Enqueue(t.Context(), args, &o)
		return err
	}
	for range 2 {
		if err := add(queue.Raw("repeated", nil), queue.Options{RequestKey: "key", RequestDigest: "digest"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := add(withQueue{}, queue.Options{}); err != nil {
		t.Fatal(err)
	}
	if err := add(withQueue{}, queue.Options{Queue: "of-options"}); err != nil {
		t.Fatal(err)
	}
	var notConfirmed *skidway.UnconfirmedError
	if err := add(queue.Raw("unconfirmed", nil), queue.Options{}); !errors.As(err, &notConfirmed) {
		t.Fatal(err)
	}
	unique := queue.Options{Unique: queue.Unique{Key: "key"}}
	if err := add(queue.Raw("unique", nil), unique); err != nil {
		t.Fatal(err)
	}
	var duplicate *queue.DuplicateError
	if err := add(queue.Raw("unique", nil), unique); !errors.As(err, &duplicate) {
		t.Fatal(err)
	}
	want := `
# HELP skidway_jobs_enqueued_total Jobs that this process has added.
# TYPE skidway_jobs_enqueued_total counter
skidway_jobs_enqueued_total{kind="repeated",queue="default"} 1
skidway_jobs_enqueued_total{kind="unconfirmed",queue="default"} 1
skidway_jobs_enqueued_total{kind="unique",queue="default"} 1
skidway_jobs_enqueued_total{kind="with-queue",queue="of-args"} 1
skidway_jobs_enqueued_total{kind="with-queue",queue="of-options"} 1
`
	if err := testutil.CollectAndCompare(m, strings.NewReader(want), "skidway_jobs_enqueued_total"); err != nil {
		t.Error(err)
	}
}
