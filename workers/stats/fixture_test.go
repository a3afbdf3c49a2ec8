package stats

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A fixture is a collector of one pool and one queue, "q".
type fixture struct {
	testing.TB
	ctx       context.Context
	db        *rdb.DB
	client    *queue.Client
	queue     *queue.Queue
	collector *Collector
	counter   *Counter
}

func newFixture(t testing.TB, db *rdb.DB, mode Mode) *fixture {
	t.Helper()
	client, err := queue.NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	q, err := client.Queue("q")
	if err != nil {
		t.Fatal(err)
	}
	f := &fixture{TB: t, ctx: t.Context(), db: db, client: client, queue: q}
	f.collector = NewCollector(Config{Client: client, Pool: "pool-" + strings.ReplaceAll(t.Name(), "/", "-")[:4], Mode: mode})
	f.counter = f.collector.Counter(q)
	return f
}

func (f *fixture) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// count counts n ends of attempts of a kind, which waited 5 ms and took 3 ms.
func (f *fixture) count(kind string, d queue.Disposition, n int, reason ...string) {
	f.counter.Add(func(yield func(End) bool) {
		for i := range n {
			job := &queue.Job{ID: fmt.Sprintf("q:0:%s-%d", kind, i), Kind: kind}
			if !yield(End{Job: job, Disposition: d, Error: strings.Join(reason, ""), Waited: 5 * time.Millisecond, Took: 3 * time.Millisecond}) {
				return
			}
		}
	})
}

func (f *fixture) flush() {
	f.Helper()
	f.must(f.collector.Flush(f.ctx))
}

// read returns the counts of the whole range by kind.
func (f *fixture) read(back Range) map[string]*Counts {
	f.Helper()
	series, err := Read(f.ctx, f.client, "q", back)
	f.must(err)
	return series.Kinds()
}

func (f *fixture) wantDone(kind string, want int64) {
	f.Helper()
	for back := range ranges {
		var done int64
		if counts := f.read(back)[kind]; counts != nil {
			done = counts.Done
		}
		if done != want {
			f.Errorf("%s: %d jobs of kind %s are done, want %d", back, done, kind, want)
		}
	}
}

// keys returns the names of the keys of the statistics behind those of the queue.
func (f *fixture) keys() (names []string) {
	f.Helper()
	base := f.queue.Key("")
	scan := func(pattern string) {
		keys, err := f.db.Keys(f.ctx, base+pattern).Result()
		f.must(err)
		for _, key := range keys {
			names = append(names, strings.TrimPrefix(key, base))
		}
	}
	scan("stats*")
	scan("errors*")
	slices.Sort(names)
	return names
}
