package workers

import (
	"slices"
	"testing"
	"time"

	"skidway/workers/stats"
)

func TestWatchedQueuesAreDueOnceAndWithEachTick(t *testing.T) {
	t.Parallel()
	q := &servedQueue{ctx: t.Context()}
	r := newReporter(nil)
	for _, c := range []struct {
		what     string
		watch    bool
		after    time.Duration
		all      bool
		due      []*servedQueue
		over     []*servedQueue
		watching bool
	}{
		{"before it is watched", false, 0, true, nil, nil, false},
		{"when it is watched", true, 0, false, []*servedQueue{q}, nil, true},
		{"when it is watched again", true, 0, false, nil, nil, true},
		{"at a tick", false, stats.ReportEvery, true, []*servedQueue{q}, nil, true},
		{"at a late tick", false, 2 * stats.WatchFor, true, nil, []*servedQueue{q}, false},
		{"when it is watched after that", true, 0, false, []*servedQueue{q}, nil, true},
	} {
		if c.watch {
			r.watch(q)
		}
		if due, over, watching := r.due(time.Now().Add(c.after), c.all); !slices.Equal(due, c.due) || !slices.Equal(over, c.over) || watching != c.watching {
			t.Errorf("%s: %d queues are due, watching %t", c.what, len(due), watching)
		}
	}
}
