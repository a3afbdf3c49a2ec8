package ops

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/queue"
	"skidway/workers/stats"
)

// Bounds of a sampler.
const (
	samplerShare = 100                        // it uses one part in so many of Redis's time
	ownShare     = 2                          // likewise of a Redis inside this process, which has no other users
	sampleEvery  = 2 * time.Second            // each queue is read at most so often
	publishEvery = 250 * time.Millisecond     // an overview is made at most so often, while queues are read
	lookFor      = 15 * time.Second           // after the last call of Overview the sampler stops
	firstPublish = 40 * time.Millisecond      // the first overview is made after this time, with what is known
	readTimeout  = 3 * time.Second            // of one part
	firstWait    = readTimeout + publishEvery // for the first figures of a run: a read that fails is known by then

	slowEvery    = 30 * time.Second // statistics of the last hour, schedules, channels
	dayEvery     = 5 * time.Minute  // statistics of the day, with more queues than fewQueues
	fewQueues    = 50
	examineEvery = time.Minute      // the checks of Redis
	observeEvery = 15 * time.Second // between statuses of a history
)

// A Sampler reads what an [Overview] shows, once for all callers in a process. It runs only while
// Overview is called, and uses at most 1 % of Redis's time: with many queues a round takes longer. It
// is safe for concurrent use.
type Sampler struct {
	client *Client
	budget *budget
	bill   bill // of the loop alone

	mu      sync.Mutex
	looked  time.Time // by the local clock
	stop    context.CancelFunc
	closed  bool
	latest  *Overview
	before  *Overview     // the figures from before the latest pause; nil if there are none
	changed chan struct{} // closed when there is a later overview
	running sync.WaitGroup

	// Of the loop alone.
	queues map[string]*SampledQueue
	named  bool // names has succeeded in this run
	state  Overview
	pools  poolList
	due    map[string]time.Time // when a part is read again, by the local clock
}

// NewSampler returns a sampler that does not run. A process should have one.
func (c *Client) NewSampler() *Sampler {
	share := samplerShare
	if handle.Conn(c.queues.DB()).Embedded() {
		share = ownShare
	}
	return &Sampler{client: c, budget: newBudget(share), changed: make(chan struct{}), queues: map[string]*SampledQueue{}, due: map[string]time.Time{}}
}

// Overview returns the latest overview, and a channel that is closed when there is a later one. It
// makes the sampler run for the next 15 s, and waits for a short time for the first figures. If there
// are none by then, it returns those from before the pause, which are empty in a new sampler.
func (s *Sampler) Overview(ctx context.Context) (*Overview, <-chan struct{}) {
	s.mu.Lock()
	if s.stop == nil && !s.closed {
		run, stop := context.WithCancel(context.Background())
		s.stop, s.latest = stop, nil
		s.running.Go(func() { s.run(run) })
	}
	s.looked = time.Now()
	latest, changed := s.latest, s.changed
	s.mu.Unlock()
	if latest == nil {
		timer := time.NewTimer(firstWait)
		defer timer.Stop()
		select {
		case <-changed:
		case <-timer.C:
		case <-ctx.Done():
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		latest, changed = cmp.Or(s.latest, s.before, &Overview{}), s.changed
	}
	return latest, changed
}

// Close ends the sampler, and waits for it.
func (s *Sampler) Close() {
	s.mu.Lock()
	s.closed = true
	if s.stop != nil {
		s.stop()
	}
	s.mu.Unlock()
	s.running.Wait()
}

// run reads until Overview was not called for a time.
func (s *Sampler) run(ctx context.Context) {
	for s.begin(); ; {
		began := time.Now()
		err := s.round(ctx)
		if ctx.Err() != nil {
			return
		}
		if !errors.Is(err, errIdle) {
			s.state.away(err)
		}
		s.publish()
		select {
		case <-ctx.Done():
			return
		case <-time.After(max(publishEvery, sampleEvery-time.Since(began))):
		}
		if s.end() {
			return
		}
	}
}

// begin marks the figures as those from before a pause.
func (s *Sampler) begin() {
	s.named = false
	clear(s.due)
	for _, q := range s.queues {
		q.Stored, q.scheduled = true, false
	}
	before := s.collect()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// end ends the loop if Overview was not called for a time, and reports whether it did.
func (s *Sampler) end() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	idle := time.Since(s.looked) > lookFor
	if idle {
		s.stop()
		s.stop = nil
	}
	return idle
}

// collect returns an overview of what is known.
func (s *Sampler) collect() *Overview {
	o := s.state
	o.Queues = make([]*SampledQueue, 0, len(s.queues))
	for _, q := range s.queues {
		copied := *q
		o.Queues = append(o.Queues, &copied)
	}
	o.judge()
	return &o
}

// publish makes an overview of what is known the latest one.
func (s *Sampler) publish() {
	latest := s.collect()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.latest = latest
	close(s.changed)
	s.changed = make(chan struct{})
}

// round reads each queue once, and the other parts when their time has come.
func (s *Sampler) round(ctx context.Context) error {
	first := !s.named
	names, err := s.names(ctx)
	if err != nil {
		return err
	}
	publishAt := time.Now().Add(publishEvery)
	if first {
		publishAt = time.Now().Add(firstPublish)
		if s.budget.wait() > firstPublish {
			s.publish() // the first part would wait for so long
		}
	}
	for _, part := range []func(context.Context, *SampledQueue) error{s.readQueue, s.readHistory} {
		for _, name := range names {
			if err := part(ctx, s.queues[name]); err != nil {
				return err
			}
			if now := time.Now(); now.After(publishAt) {
				s.publish()
				publishAt = now.Add(publishEvery)
			}
		}
	}
	return s.readRest(ctx)
}

// names reads the queues and the pools, and returns the names in the order in which the queues are
// to be read: first those without a figure, then the oldest figures. It takes the figures that pools
// have stored until it has once succeeded in a run. They are part of the same read, so that the first
// overview does not wait for the budget of a second one.
func (s *Sampler) names(ctx context.Context) (names []string, err error) {
	trips, samples := 4, map[string]stats.Sample{}
	if !s.named {
		trips += 1 + len(s.queues)/100
	}
	err = s.read(ctx, trips, func(ctx context.Context) error {
		if names, err = s.client.queues.Queues(ctx); err == nil {
			s.pools, err = s.client.pools(ctx)
		}
		if err == nil && !s.named {
			samples, err = stats.Samples(ctx, s.client.queues, names)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	s.state.Now, s.state.ReadAt, s.state.Names = s.pools.at, time.Now(), len(names)
	s.state.setPools(s.pools)
	for name := range s.queues {
		if !slices.Contains(names, name) {
			delete(s.queues, name)
		}
	}
	for _, name := range names {
		if s.queues[name] == nil {
			s.queues[name] = &SampledQueue{QueueStatus: QueueStatus{Name: name}}
		}
	}
	s.takeSamples(samples)
	s.named = true
	slices.SortStableFunc(names, func(a, b string) int { return s.queues[a].Time.Compare(s.queues[b].Time) })
	return names, nil
}

// takeSamples takes the figures that pools have stored in the last minute in place of older ones.
func (s *Sampler) takeSamples(samples map[string]stats.Sample) {
	for name, sample := range samples {
		q := s.queues[name]
		if q.Time.After(sample.Minute) {
			continue
		}
		q.QueueStatus = QueueStatus{Name: name, Time: sample.Minute, Depth: queue.Depth{
			Waiting: sample.Waiting, Active: sample.Active, Delayed: sample.Delayed, Dead: sample.Dead, Oldest: sample.Oldest,
		}}
		q.addPools(s.pools)
		q.Stored = true
	}
}

// errIdle ends a round because Overview is no longer called.
var errIdle = errors.New("the overview is not used")

// read calls a function that reads a part in so many round trips, when there is some of Redis's time
// for it.
func (s *Sampler) read(ctx context.Context, trips int, part func(context.Context) error) error {
	if s.idle() {
		return errIdle
	}
	conn := handle.Conn(s.client.queues.DB())
	if _, cluster := conn.UniversalClient.(*redis.ClusterClient); s.budget.wait() > 0 && !cluster { // it has several processors
		settling, cancel := context.WithTimeout(ctx, readTimeout)
		s.bill.settle(settling, s.budget, conn, "")
		cancel()
	}
	if wait := s.budget.wait(); wait > 0 {
		if err := rdb.Sleep(ctx, wait); err != nil {
			return err
		}
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if err := s.budget.measurePath(ctx, s.client.queues.DB()); err != nil {
		return err
	}
	began := time.Now()
	err := part(ctx)
	s.bill.add(s.budget.spend(time.Since(began), trips))
	if err == nil {
		s.state.away(nil) // also in the middle of a round, which may be long
	}
	return err
}

// idle reports whether Overview was not called for a time.
func (s *Sampler) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.looked) > lookFor
}

// silent reports whether an error is that of a Redis that did not answer.
func silent(err error) bool { return unreachable(err) || errors.Is(err, context.DeadlineExceeded) }

// readQueue reads the status of a queue.
func (s *Sampler) readQueue(ctx context.Context, q *SampledQueue) error {
	return s.read(ctx, 2, func(ctx context.Context) error {
		status, err := s.client.status(ctx, q.Name, s.pools)
		switch {
		case err == nil:
		case ctx.Err() != nil || silent(err):
			return err
		default:
			status = QueueStatus{Name: q.Name, Time: s.pools.at, Err: err}
		}
		q.QueueStatus, q.Stored = status, false
		if n := len(q.observed); n == 0 || status.Time.Sub(q.observed[n-1].Time) >= observeEvery || status.Err != nil {
			seen := status
			seen.Depth.WaitingBy, seen.Depth.ActiveBy = nil, nil
			q.observed = q.observed.Add(seen)
		}
		return nil
	})
}

// readHistory reads the statistics and schedules of a queue when their time has come.
func (s *Sampler) readHistory(ctx context.Context, q *SampledQueue) error {
	if q.Err == nil && s.isDue("hour "+q.Name, slowEvery) {
		err := s.read(ctx, 5, func(ctx context.Context) error {
			series, err := stats.Read(ctx, s.client.queues, q.Name, stats.Hour)
			if err != nil {
				return err
			}
			q.setHour(series)
			pool, err := s.client.queues.ForPool(q.Name)
			if err != nil {
				return err
			}
			schedules, err := pool.Schedules(ctx)
			if err := s.partly(err); err != nil {
				return err
			}
			q.Schedules, q.SchedulesErr, q.scheduled = schedules, err, true
			return nil
		})
		if err := s.partly(err); err != nil {
			return err
		}
	}
	every := dayEvery
	if len(s.queues) <= fewQueues {
		every = slowEvery
	}
	if q.Err == nil && s.isDue("day "+q.Name, every) {
		err := s.read(ctx, 5, func(ctx context.Context) error {
			series, err := stats.Read(ctx, s.client.queues, q.Name, stats.Day)
			if err == nil {
				q.setDay(series)
			}
			return err
		})
		if err := s.partly(err); err != nil {
			return err
		}
	}
	s.client.diagnoseSampled(q)
	if len(q.Diagnoses) > 0 && q.Diagnoses[0].Name == "failing" && s.isDue("errors "+q.Name, slowEvery) {
		err := s.read(ctx, 3, func(ctx context.Context) error {
			groups, err := s.client.Errors(ctx, q.Name, "", stats.MaxErrorGroups)
			q.TopError = mostFailures(groups)
			return err
		})
		return s.partly(err)
	}
	return nil
}

// isDue reports whether a part is to be read, and sets its next time.
func (s *Sampler) isDue(part string, every time.Duration) bool {
	now := time.Now()
	if now.Before(s.due[part]) {
		return false
	}
	s.due[part] = now.Add(every)
	return true
}

// partly returns an error only if it ends the round: others leave one part as it was.
func (s *Sampler) partly(err error) error {
	if errors.Is(err, errIdle) || errors.Is(err, context.Canceled) || silent(err) {
		return err
	}
	return nil
}
