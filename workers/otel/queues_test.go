package otel_test

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
	global "go.opentelemetry.io/otel"

	"skidway/queue"
	"skidway/workers/otel"
)

// addTo adds a job to a queue.
func (f *fixture) addTo(name string) {
	f.Helper()
	_, err := f.Client.Enqueue(f.Context(), queue.Raw("a", nil), &queue.Options{Queue: name})
	f.must(err)
}

// observed returns the queues of the data points of a metric.
func (f *fixture) observed(metric string) (queues []string) {
	f.Helper()
	for _, point := range f.metrics() {
		if rest, found := strings.CutPrefix(point, metric+" messaging.destination.name="); found {
			queues = append(queues, strings.Fields(rest)[0])
		}
	}
	return queues
}

// The test sets the error handler of OpenTelemetry, which all tests share: it is not parallel.
func TestQueuesThatCannotBeReadDoNotHideOthers(t *testing.T) {
	handler := global.GetErrorHandler()
	t.Cleanup(func() { global.SetErrorHandler(handler) })
	var errs []string
	global.SetErrorHandler(global.ErrorHandlerFunc(func(err error) { errs = append(errs, err.Error()) }))
	f := setup(t, otel.Config{})
	f.must(f.telemetry.ObserveQueues(f.Client))
	for _, name := range []string{"a", "b", "c"} {
		f.addTo(name)
	}
	db := f.DB.Redis()
	f.must(db.SAdd(t.Context(), "skidway:{queues}", "no name!").Err())
	f.must(db.HSet(t.Context(), "skidway:{a:0}:meta", "format", "999").Err())
	want := []string{"b", "c"}
	for _, metric := range []string{"skidway.queue.oldest", "skidway.queue.workers"} {
		if got := f.observed(metric); !slices.Equal(got, want) {
			t.Errorf("%s was observed of %q, want %q", metric, got, want)
		}
	}
	if len(errs) > 0 {
		t.Errorf("unusable queues are errors: %q", errs)
	}
	f.must(db.Del(t.Context(), "skidway:{b:0}:meta").Err())
	f.must(db.Set(t.Context(), "skidway:{b:0}:meta", "damaged", 0).Err())
	// f.metrics fails if a collection has an error: then the SDK exports nothing.
	if got := f.observed("skidway.queue.oldest"); !slices.Equal(got, []string{"c"}) {
		t.Errorf("beside a damaged queue the metric was observed of %q", got)
	}
	if len(errs) != 1 || !strings.Contains(errs[0], "queue b") {
		t.Errorf("the errors of a damaged queue are %q, want one that names it", errs)
	}
}

// A gathering blocks the commands of queues until a number of them are under way.
type gathering struct {
	want int
	full chan struct{} // closed when want commands are under way

	mu           sync.Mutex
	current, max int
}

func (g *gathering) DialHook(next redis.DialHook) redis.DialHook { return next }

func (g *gathering) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (g *gathering) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if !strings.Contains(fmt.Sprint(cmd.Args()...), ":0}:meta") {
			return next(ctx, cmd)
		}
		g.count(1)
		defer g.count(-1)
		select {
		case <-g.full:
			return next(ctx, cmd)
		case <-ctx.Done():
			return &net.OpError{Op: "read", Err: ctx.Err()}
		}
	}
}

// count changes the number of commands under way.
func (g *gathering) count(change int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.current += change
	if g.current > g.max {
		if g.max = g.current; g.max == g.want {
			close(g.full)
		}
	}
}

func TestSixteenQueuesAreReadAtTheSameTime(t *testing.T) {
	t.Parallel()
	f := setup(t, otel.Config{})
	f.must(f.telemetry.ObserveQueues(f.Client))
	const queues, reads = 40, 16
	for i := range queues {
		f.addTo(fmt.Sprint("q", i))
	}
	g := &gathering{want: reads, full: make(chan struct{})}
	f.DB.Redis().AddHook(g)
	if got := f.observed("skidway.queue.oldest"); len(got) != queues {
		t.Errorf("%d queues were observed, want %d", len(got), queues)
	}
	if g.max != reads {
		t.Errorf("%d queues were read at the same time, want %d", g.max, reads)
	}
}
