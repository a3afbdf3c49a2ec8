package ops

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/queue"
)

// SetClock replaces the clock by which searches end.
func (c *Client) SetClock(now func() time.Time) { c.now = now }

// Unlimited makes the budget of searches full at any time.
func (c *Client) Unlimited() {
	var hours atomic.Int64
	c.budget.now = func() time.Time { return time.Unix(3600*hours.Add(1), 0) }
}

// SetPath makes the budget believe that a round trip takes so long.
func (c *Client) SetPath(took time.Duration) {
	c.budget.pings = []pingTime{{c.budget.now().Add(100 * 365 * 24 * time.Hour), took}}
}

// Order reads the queues and what workers have stored of them, and returns the order in which a
// sampler that does not run would read them.
func (s *Sampler) Order(ctx context.Context) ([]string, map[string]*SampledQueue, error) {
	s.looked = time.Now()
	s.begin()
	names, err := s.names(ctx)
	return names, s.queues, err
}

// Running reports whether the sampler runs.
func (s *Sampler) Running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stop != nil && !s.closed
}

// LookedAt sets when the sampler was looked at last, and reads a part.
func (s *Sampler) LookedAt(ctx context.Context, at time.Time) error {
	s.mu.Lock()
	s.looked = at
	s.mu.Unlock()
	return s.read(ctx, 1, func(context.Context) error { return nil })
}

// AwayAfter makes the sampler believe that Redis does not answer, reads a part, and returns why Redis does not answer
// then.
func (s *Sampler) AwayAfter(ctx context.Context, away error) error {
	s.state.away(away)
	if err := s.LookedAt(ctx, time.Now()); err != nil {
		return err
	}
	return s.state.Away
}

// Overdraw makes the sampler believe that it has used all of Redis's time that it may.
func (s *Sampler) Overdraw() {
	s.budget.mu.Lock()
	defer s.budget.mu.Unlock()
	s.budget.left, s.budget.filled = -maxBudget, s.budget.now()
}

// CountOthers makes the operations believe that others count as many jobs as they allow, and refuse more at
// once.
func (o *Operations) CountOthers() {
	o.budget.maxWait = time.Millisecond
	for range maxSearches {
		o.budget.slots <- struct{}{}
	}
}

// SharesBudget reports whether all operations have one budget.
func (o *Operations) SharesBudget() bool {
	f, _ := parseFilter("")
	first, second := o.newReader(nil, f, "", time.Time{}, ""), o.newReader(nil, f, "", time.Time{}, "")
	return first.budget == second.budget && first.budget.share == operationShare
}

// LeftOnABusyMachine returns what is left of the budget of operations after round trips that took some
// time, while Redis did nothing for the queue.
func (o *Operations) LeftOnABusyMachine(ctx context.Context, q *queue.Queue, took time.Duration) time.Duration {
	at := time.Now()
	o.budget.now = func() time.Time { return at }
	f, _ := parseFilter("")
	r := o.newReader(q, f, "", time.Time{}, "")
	settle := func() { r.bill.settle(ctx, r.budget, handle.Conn(o.client.queues.DB()), q.Key("meta")) }
	settle()
	r.bill.add(r.budget.spend(took, 0))
	settle()
	return r.budget.left
}

// LeftOnABusyMachine returns what is left of the budget of a sampler after a read that took some time, while
// Redis did nothing.
func (s *Sampler) LeftOnABusyMachine(ctx context.Context, took time.Duration) (left time.Duration, err error) {
	at := time.Now()
	s.looked, s.budget.now, s.budget.left = at, func() time.Time { return at }, 0
	for _, took := range []time.Duration{took, 0} {
		err = errors.Join(err, s.read(ctx, 0, func(ctx context.Context) error { return rdb.Sleep(ctx, took) }))
	}
	return s.budget.left, err
}
