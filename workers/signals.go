package workers

import (
	"context"
	"slices"
	"strings"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// listen hears the signals of all queues and does what they say.
func (p *Pool) listen(ctx context.Context) {
	news := watch{pool: p}
	for ctx.Err() == nil {
		p.mu.Lock()
		changed := p.changed
		var queues []*servedQueue
		var marks []rdb.Mark
		for _, s := range p.queues {
			if s.heard.Key != "" {
				queues, marks = append(queues, s), append(marks, s.heard)
			}
		}
		p.mu.Unlock()
		if len(marks) == 0 {
			select {
			case <-ctx.Done():
			case <-changed:
			}
			continue
		}
		select {
		case <-changed:
			sleep(ctx, settle)
		case keys := <-news.read(ctx, marks):
			news.ended(keys)
			for i, s := range queues {
				if slices.Contains(keys, marks[i].Key) {
					p.hear(ctx, s)
				}
			}
		}
	}
}

// settle gathers changes of the set of queues, so that few reads are left
// behind.
const settle = 50 * time.Millisecond

// hear reads a queue's signals and obeys them.
func (p *Pool) hear(ctx context.Context, s *servedQueue) {
	signals, mark, err := s.queue.Signals(ctx, s.heard)
	if err != nil {
		if ctx.Err() == nil {
			p.log.Warn("reading signals failed", "queue", s.queue.Name(), "error", err)
			sleep(ctx, firstPause)
		}
		return
	}
	p.mu.Lock()
	s.heard = mark
	p.mu.Unlock()
	for _, signal := range signals {
		p.obey(s, signal)
	}
}

// obey does what a signal says.
func (p *Pool) obey(s *servedQueue, signal queue.Signal) {
	switch signal.Do {
	case queue.SignalDue:
		p.mover.Wake(s.queue.Name())
	case queue.SignalSchedule:
		p.crons.Wake(s.queue.Name())
	case queue.SignalPause:
		p.mu.Lock()
		s.paused = true
		s.signals++
		p.mu.Unlock()
		p.handBackOf(s)
		p.wake()
	case queue.SignalResume:
		p.mu.Lock()
		s.paused, s.empty = false, false
		s.signals++
		p.mu.Unlock()
		p.wake()
	case queue.SignalCancel:
		p.cancel(s, signal.Job)
	case queue.SignalQuiet:
		if p.isMe(signal.Worker) {
			p.log.Info("told to be quiet: taking no more jobs")
			p.Quiet()
		}
	case queue.SignalStop:
		if p.isMe(signal.Worker) {
			p.log.Info("told to stop")
			p.stop()
		}
	}
}

// isMe reports whether a signal for a worker is for this one: for its name, for
// one of its leases, or for all.
func (p *Pool) isMe(worker string) bool {
	return worker == "" || worker == p.name || strings.HasPrefix(worker, p.name+".")
}

// cancel ends a job that is in this worker's hands or may be on its way here.
func (p *Pool) cancel(s *servedQueue, id string) {
	p.mu.Lock()
	t := s.session
	p.mu.Unlock()
	if t != nil {
		t.cancel(id)
	}
}
