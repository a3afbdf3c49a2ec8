package telemetry

import (
	"context"
	"net/http"
	"testing"

	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// TestWithoutTelemetryJobsAllocateNothingMore compares adding and processing a job with the configurations of
// telemetry that is off, and with those of a program that knows none.
func TestWithoutTelemetryJobsAllocateNothingMore(t *testing.T) {
	var off *Telemetry
	db := handle.New(redistest.DB(t))
	const calls = 1000
	each := func(client *queue.Config, pool *workers.Config) (enqueue, process float64) {
		queues, err := queue.NewClient(db, client)
		if err != nil {
			t.Fatal(err)
		}
		worker := workers.NewPool(queues, pool)
		worker.HandleRaw("k", func(context.Context, *queue.Job) error { return nil }, workers.Kind{})
		args, options, job := queue.Raw("k", []byte("{}")), &queue.Options{Queue: "q"}, &queue.Job{ID: "q:0:n1-0", Queue: "q", Kind: "k"}
		perCall := func(f func() error) float64 { // with its fraction: the race detector empties pools at random
			return testing.AllocsPerRun(1, func() {
				for range calls {
					if err := f(); err != nil {
						t.Fatal(err)
					}
				}
			}) / calls
		}
		enqueue = perCall(func() error { _, err := queues.Enqueue(t.Context(), args, options); return err })
		return enqueue, perCall(func() error { _, err := worker.Attempt(t.Context(), job); return err })
	}
	pool := &workers.Config{}
	off.Pool(pool)
	enqueue, process := each(off.Client(queue.Config{}), pool)
	bareEnqueue, bareProcess := each(nil, &workers.Config{})
	if enqueue > bareEnqueue+0.5 || process > bareProcess+0.5 {
		t.Errorf("adding a job has %.2f allocations instead of %.2f, processing it %.2f instead of %.2f", enqueue, bareEnqueue, process, bareProcess)
	}
}

func TestWithoutTelemetryRequestsCostNothing(t *testing.T) {
	t.Parallel()
	var off *Telemetry
	mux := http.NewServeMux()
	if off.Handler(mux) != http.Handler(mux) || off.Transport(http.DefaultTransport) != http.DefaultTransport {
		t.Error("handlers or transports are wrapped although nothing is measured")
	}
}
