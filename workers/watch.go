package workers

import (
	"context"
	"slices"
	"time"

	"skidway/internal/rdb"
)

// A watch waits in Redis for news of some streams, one read at a time. A read
// that blocks can't be called back and keeps its connection until its time is
// over. So a watch goes on with the read that it has as long as the marks are
// the same, and its reads are short while things happen: only what is idle
// blocks for up to [idleWait]. It belongs to one goroutine.
type watch struct {
	pool  *Pool
	marks []rdb.Mark
	news  chan []string // of the read that is under way; nil: none is
	block time.Duration // of the next read
}

// shortWait is the first of the waits, each of which is four times the one before.
const shortWait = 250 * time.Millisecond

// idleWait is the longest that an idle pool blocks before it looks by itself.
const idleWait = 15 * time.Second

// read gives a channel on which the keys come that have news, or none once the
// time is over. Whoever takes them calls ended.
func (w *watch) read(ctx context.Context, marks []rdb.Mark) <-chan []string {
	if w.news != nil && slices.Equal(w.marks, marks) {
		return w.news
	}
	if w.news != nil || w.block == 0 {
		w.block = shortWait // one was left behind
	}
	news, block := make(chan []string, 1), w.block
	w.pool.live.Go(func() {
		keys, err := w.pool.db.WaitKeys(ctx, block, marks...)
		if err != nil && ctx.Err() == nil {
			w.pool.log.Warn("waiting for news failed", "error", err)
			sleep(ctx, mostPause)
		}
		news <- keys
	})
	w.marks, w.news = marks, news
	return news
}

// ended notes that a read gave its answer.
func (w *watch) ended(keys []string) {
	w.news = nil
	w.block = min(4*w.block, idleWait)
	if len(keys) > 0 {
		w.block = shortWait
	}
}
