package workers

import (
	"context"
	"slices"
	"time"
)

// discover serves the queues whose names match the patterns, those that are
// there and those that appear, until ctx is done.
func (p *Pool) discover(ctx context.Context) {
	mark := ""
	for ctx.Err() == nil {
		p.mu.Lock()
		patterns := slices.ContainsFunc(p.served, Queue.pattern)
		p.mu.Unlock()
		if !patterns {
			mark = ""
			select {
			case <-ctx.Done():
			case <-p.respecified:
			}
			continue
		}
		var err error
		if mark, err = p.awaitQueues(ctx, mark); err == nil {
			err = p.serveMatches(ctx)
		}
		if err != nil && ctx.Err() == nil {
			p.log.Warn("looking for queues failed", "error", err)
			sleep(ctx, time.Second)
		}
	}
}

// awaitQueues blocks until there may be other queues, or patterns.
func (p *Pool) awaitQueues(ctx context.Context, mark string) (string, error) {
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	type answer struct {
		mark string
		err  error
	}
	found := make(chan answer, 1)
	p.live.Go(func() {
		mark, err := p.client.AwaitQueues(waiting, mark, idleWait)
		found <- answer{mark, err}
	})
	select {
	case <-p.respecified:
		return mark, nil
	case a := <-found:
		return a.mark, a.err
	}
}

func (p *Pool) serveMatches(ctx context.Context) error {
	names, err := p.client.Queues(ctx)
	if err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	before := len(p.queues)
	for _, name := range names {
		if how, served := p.configFor(name); served {
			p.serve(how, name)
		}
	}
	if len(p.queues) != before {
		p.sourcesChanged()
	}
	return nil
}
