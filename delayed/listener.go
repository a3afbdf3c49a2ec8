package delayed

import (
	"context"
	"log/slog"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

const (
	// listenFor bounds one blocked read. A read whose set of queues is
	// out of date goes on until then and keeps its connection.
	listenFor = 2 * time.Second

	// settle gathers changes of the set of queues, so that only a few such
	// reads are left behind.
	settle = 250 * time.Millisecond
)

// listen wakes posts by the signals of their queues until ctx is done.
func (m *Mover) listen(ctx context.Context) {
	marks := map[string]rdb.Mark{}
	failures := 0
	for ctx.Err() == nil {
		current, stop := context.WithCancel(ctx)
		posts := m.watch(stop)
		var err error
		if marks, err = hear(ctx, posts, marks); err == nil {
			failures = 0
			err = m.awaitSignal(current, marks)
		}
		outdated := current.Err() != nil
		stop()
		switch {
		case ctx.Err() != nil:
		case outdated:
			sleep(ctx, settle)
		case err != nil:
			failures++
			pause := trouble.Wait(failures)
			m.log.WarnContext(ctx, "delayed jobs may be late: can't listen for new ones",
				slog.Duration("again_in", pause), slog.Any("err", err))
			sleep(ctx, pause)
		}
	}
}

// watch gives the posts, and has stop called when they are no longer all.
func (m *Mover) watch(stop context.CancelFunc) []*post {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.changed = stop
	posts := make([]*post, 0, len(m.posts))
	for _, p := range m.posts {
		posts = append(posts, p)
	}
	return posts
}

// hear reads the signals after the marks, wakes posts, and gives the marks to
// go on with.
func hear(ctx context.Context, posts []*post, marks map[string]rdb.Mark) (map[string]rdb.Mark, error) {
	next := make(map[string]rdb.Mark, len(posts))
	for _, p := range posts {
		mark, known := marks[p.queue.Name()]
		signals, mark, err := p.queue.Signals(ctx, mark)
		if err != nil {
			return marks, err
		}
		next[p.queue.Name()] = mark
		due := !known // what came before the first mark was not heard
		for _, signal := range signals {
			due = due || signal.Do == queue.SignalDue
		}
		if due {
			p.wake()
		}
	}
	return next, nil
}

// awaitSignal blocks until there is a signal, there may be one, or ctx is done.
func (m *Mover) awaitSignal(ctx context.Context, marks map[string]rdb.Mark) error {
	if len(marks) == 0 {
		<-ctx.Done()
		return nil
	}
	places := make([]rdb.Mark, 0, len(marks))
	for _, mark := range marks {
		places = append(places, mark)
	}
	for {
		begin := time.Now()
		news, err := m.db.Wait(ctx, listenFor, places...)
		// A wait that ends early without news has lost its connection:
		// the next call finds out.
		if news || err != nil || time.Since(begin) < listenFor {
			return err
		}
	}
}
