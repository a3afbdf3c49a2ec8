package api

import (
	"sync"
	"time"
)

// A limit bounds requests of one kind that last long: all together, those of one principal, and the
// queues that they wait for. Each of the queues has a connection to Redis.
type limit struct {
	max, maxEach, maxQueues int
	linger                  time.Duration // for which the connection of a queue outlives the last request

	mu     sync.Mutex
	all    int
	each   map[string]int       // by principal
	queues map[string]*lingerer // by name
}

// A lingerer is a queue that requests wait for.
type lingerer struct {
	requests int
	until    time.Time // the end of its connection, if there are no requests
}

// enter reports whether one more request is possible. The caller must call leave at its end.
func (l *limit) enter(principal, queue string) (leave func(), ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.each == nil {
		l.each, l.queues = map[string]int{}, map[string]*lingerer{}
	}
	now := time.Now()
	for name, one := range l.queues {
		if one.requests == 0 && now.After(one.until) {
			delete(l.queues, name)
		}
	}
	known := l.queues[queue]
	if l.all >= l.max || l.each[principal] >= l.maxEach || known == nil && len(l.queues) >= l.maxQueues {
		return nil, false
	}
	if known == nil {
		known = &lingerer{}
		l.queues[queue] = known
	}
	l.all++
	l.each[principal]++
	known.requests++
	return func() { l.leave(principal, known) }, true
}

func (l *limit) leave(principal string, known *lingerer) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all--
	if l.each[principal]--; l.each[principal] == 0 {
		delete(l.each, principal)
	}
	known.requests--
	known.until = time.Now().Add(l.linger)
}
