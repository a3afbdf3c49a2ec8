package workers

import (
	"path"
	"slices"
	"strings"
)

// SetQueues changes what the pool serves, also while it runs. Queues that it
// serves no longer give back what was not started; their running jobs go on.
func (p *Pool) SetQueues(queues []Queue) error {
	config := Config{Queues: queues}
	if err := config.setDefaults(); err != nil {
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.served = config.Queues
	if p.life == nil || p.quiet {
		return nil
	}
	for _, s := range slices.Clone(p.queues) {
		if _, served := p.configFor(s.queue.Name()); !served {
			s.removed = true
			p.mover.Remove(s.queue.Name())
			p.crons.Remove(s.queue.Name())
			p.handBackFrom(s)
			p.dismiss(s)
		}
	}
	p.serveNamed()
	p.news()
	p.respecified.send()
	return nil
}

// howTo says how a queue is to be served: by its name, else by the first
// pattern that matches, else not. The mutex is held.
func (p *Pool) configFor(name string) (how Queue, served bool) {
	for _, q := range p.served {
		if q.Name == name {
			return q, true
		}
	}
	for _, q := range p.served {
		if matches, _ := path.Match(q.Name, name); matches { // patterns were checked
			return q, true
		}
	}
	return Queue{}, false
}

// serveNamed serves the queues that are given by name, and those that are served
// already as is said now. The mutex is held.
func (p *Pool) serveNamed() {
	for _, s := range p.queues {
		if how, served := p.configFor(s.queue.Name()); served {
			s.config = how
		}
	}
	for _, q := range p.served {
		if !q.pattern() {
			p.serve(q, q.Name)
		}
	}
	p.sourcesChanged()
}

// dismiss ends a source that is removed, once none of its jobs runs any more.
// The mutex is held.
func (p *Pool) dismiss(s *servedQueue) {
	if s.removed && s.running == 0 && slices.Contains(p.queues, s) {
		p.queues = slices.DeleteFunc(p.queues, func(other *servedQueue) bool { return other == s })
		p.sourcesChanged()
		s.end()
	}
}

// sourcesChanged puts the sources in the order in which the pool was told to
// serve them, queues of one pattern by name, and tells those who wait on all of
// them. The mutex is held.
func (p *Pool) sourcesChanged() {
	place := func(s *servedQueue) int {
		return slices.IndexFunc(p.served, func(q Queue) bool { return q.Name == s.config.Name })
	}
	slices.SortStableFunc(p.queues, func(a, b *servedQueue) int {
		if by := place(a) - place(b); by != 0 {
			return by
		}
		return strings.Compare(a.queue.Name(), b.queue.Name())
	})
	p.announce()
	p.wake()
}

// announce tells the listener of other sources. The mutex is held.
func (p *Pool) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}
