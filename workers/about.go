package workers

import (
	"context"
	"encoding/json"
	"os"
	"time"

	"skidway/queue"
)

// An About is what a worker says of itself to people: the JSON in
// [queue.WorkerInfo].
type About struct {
	Name        string    `json:"name"`
	Host        string    `json:"host"`
	PID         int       `json:"pid"`
	Started     time.Time `json:"started"`
	Concurrency int       `json:"concurrency"`
	Queues      []string  `json:"queues"` // names and patterns
	State       string    `json:"state"`  // running, quiet or stopping
	Stuck       int       `json:"stuck"`  // handlers that were left behind and go on
}

func (p *Pool) about() About {
	host, _ := os.Hostname()
	about := About{Name: p.name, Host: host, PID: os.Getpid(), Started: p.born, Concurrency: p.config.Concurrency, State: "running"}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, q := range p.served {
		about.Queues = append(about.Queues, q.Name)
	}
	about.Stuck = p.stuck
	switch {
	case p.stopping:
		about.State = "stopping"
	case p.quiet:
		about.State = "quiet"
	}
	return about
}

// aboutJSON is what goes to Redis.
func (p *Pool) aboutJSON() []byte {
	text, _ := json.Marshal(p.about()) // strings, numbers and times always marshal
	return text
}

// news says that the worker's About has changed. It does not block.
func (p *Pool) news() { p.changedAbout.send() }

// describe tells Redis each time that the About has changed, until ctx is done.
// Nothing depends on it: an error is passed over.
func (p *Pool) describe(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changedAbout:
		}
		about := p.aboutJSON()
		for _, lease := range p.currentLeases() {
			_ = lease.Describe(ctx, about)
		}
	}
}

func (p *Pool) currentLeases() (leases []*queue.Lease) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.queues {
		if s.session != nil {
			leases = append(leases, s.session.lease)
		}
	}
	return leases
}
