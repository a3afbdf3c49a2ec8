package workers

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"skidway/internal/rdb"
	"skidway/queue"
)

// A heartbeat keeps the pool and its open leases in the lists of Redis, finds the leases of
// pools that do not, and recovers the jobs of dead workers. It also looks at each queue now
// and then, for what no list and no signal tells.
type heartbeat struct {
	pool  *Pool
	sched *scheduler
	log   *slog.Logger

	forgotten time.Time                 // when idle queues were last deleted
	beaten    atomic.Pointer[time.Time] // when the last beat succeeded; nil before

	recoveries sync.WaitGroup
	sweeping   atomic.Bool // recoverAll runs

	opening notification // a lease may have been opened, which the next beat must renew or remove

	mu        sync.Mutex
	removed   []*queue.Lease    // closed leases, and those that were not opened
	recovered []queue.LateLease // of which nothing is left
}

// closed removes a lease from the list of open leases with the next beat.
func (h *heartbeat) closed(lease *queue.Lease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.removed = append(h.removed, lease)
}

// take returns the leases to be removed.
func (h *heartbeat) take() (removed []*queue.Lease, recovered []queue.LateLease) {
	h.mu.Lock()
	defer h.mu.Unlock()
	removed, recovered = h.removed, h.recovered
	h.removed, h.recovered = nil, nil
	return removed, recovered
}

// run beats until ctx is done, and describes the pool each time that its description has
// changed.
func (h *heartbeat) run(ctx context.Context) {
	describe, failed, skip := true, false, 0
	registered := time.Time{}
	for ctx.Err() == nil {
		result, err := h.beat(ctx, describe, skip)
		if err != nil && !failed && ctx.Err() == nil {
			h.log.Warn("the pool cannot be renewed yet", "error", err)
		}
		if failed && err == nil {
			h.recoverAll(ctx)
		}
		failed = err != nil
		describe, skip = result.Describe || describe && failed, result.Skip
		if time.Since(registered) > scanEvery && !failed {
			registered = time.Now()
			h.register(ctx)
		}
		if describe && !failed {
			continue
		}
		next := result.Next
		if failed {
			next = h.interval()
		}
		describe = h.await(ctx, next) || describe
	}
}

// interval is the time between the beats of a pool with open leases.
func (h *heartbeat) interval() time.Duration {
	return time.Duration(float64(h.pool.config.Lease) / queue.BeatsPerLease)
}

// await blocks until the next beat is due, or the description of the pool has changed, which it
// reports.
func (h *heartbeat) await(ctx context.Context, next time.Duration) (changed bool) {
	due := time.Now().Add(next)
	timer := time.NewTimer(next)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-timer.C:
			return false
		case <-h.sched.aboutChanged:
			return true
		case <-h.opening:
			if soon := time.Now().Add(h.interval()); soon.Before(due) {
				due = soon
				timer.Reset(h.interval())
			}
		}
	}
}

// end waits for recoveries, and removes the pool and the leases that it has closed from the
// lists. All queues must be stopped, and run must have returned.
func (h *heartbeat) end() {
	h.recoveries.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	removed, _ := h.take()
	if _, err := h.pool.client.Beat(ctx, queue.PoolBeat{Pool: h.pool.name, Remove: removed}); err != nil {
		h.log.Warn("the pool cannot be removed: its entry will expire", "error", err)
	}
}

// beat sends one heartbeat, and recovers the queues of late leases that the pool serves.
func (h *heartbeat) beat(ctx context.Context, describe bool, skip int) (queue.BeatResult, error) {
	beat := queue.PoolBeat{Pool: h.pool.name, Length: h.pool.config.Lease, Skip: skip}
	beat.Remove, beat.Recovered = h.take()
	for _, session := range h.sched.sessions() {
		beat.Renew = append(beat.Renew, session.lease)
	}
	if describe {
		beat.Info = h.pool.info()
	}
	send := func() (queue.BeatResult, error) {
		sending, cancel := context.WithTimeout(ctx, time.Duration(renewTimeout*float64(beat.Length)))
		defer cancel()
		return h.pool.client.Beat(sending, beat)
	}
	result, err := send()
	if err != nil && ctx.Err() == nil {
		result, err = send()
	}
	if err != nil {
		h.mu.Lock()
		h.removed, h.recovered = append(h.removed, beat.Remove...), append(h.recovered, beat.Recovered...)
		h.mu.Unlock()
		return result, err
	}
	now := time.Now()
	h.beaten.Store(&now)
	late := map[string][]queue.LateLease{}
	for _, lease := range result.Late {
		late[lease.Queue] = append(late[lease.Queue], lease)
	}
	if len(late) == 0 {
		return result, nil
	}
	for _, q := range h.sched.all() {
		if leases := late[q.name]; len(leases) > 0 {
			h.recoverAsync(q, leases)
		}
	}
	return result, nil
}

// register adds the queues that are served by name, and those that the pool has jobs of, to the
// list of all queues, in case that Redis has lost that.
func (h *heartbeat) register(ctx context.Context) {
	names := namesOf(h.pool.control.served())
	for _, session := range h.sched.sessions() {
		names = append(names, session.queue.name)
	}
	if err := h.pool.client.Register(ctx, names...); err != nil && ctx.Err() == nil {
		h.log.Warn("queues cannot be listed", "error", err)
	}
}

// recoverAsync recovers a queue in a goroutine of its own, so that it delays no heartbeat.
// It does nothing while a recovery of the queue runs.
func (h *heartbeat) recoverAsync(q *servedQueue, late []queue.LateLease) {
	if q.recovering.CompareAndSwap(false, true) {
		h.recoveries.Go(func() {
			defer q.recovering.Store(false)
			h.recoverJobs(q.ctx, q, false, late)
		})
	}
}

// recoverAll recovers all queues, one after another, in a goroutine of its own: while the list of
// open leases could not be reached, leases may have been opened that are not in it, by pools that
// have died since then. It does so for scanEvery, and twice at least: such a lease may still have to
// expire, or an amnesty to end.
func (h *heartbeat) recoverAll(ctx context.Context) {
	if !h.sweeping.CompareAndSwap(false, true) {
		return
	}
	h.recoveries.Go(func() {
		defer h.sweeping.Store(false)
		began := time.Now()
		for rounds := 0; ctx.Err() == nil && (rounds < 2 || time.Since(began) < h.pool.control.scanEvery); rounds++ {
			queues := h.sched.all()
			pause := max(h.interval()/time.Duration(max(1, len(queues))), passPause)
			_ = rdb.Sleep(ctx, pause)
			for _, q := range queues {
				h.recoverAsync(q, nil)
				_ = rdb.Sleep(ctx, pause)
			}
		}
	})
}

// recoverJobs hands back the jobs of dead workers in steps, so that other clients of Redis are
// served in between. Overdue leases of which nothing is left leave the list of open leases. spares
// reports whether an amnesty may spare leases of dead workers.
func (h *heartbeat) recoverJobs(ctx context.Context, q *servedQueue, fullScan bool, late []queue.LateLease) (spares bool) {
	workers := make([]string, len(late))
	for i, lease := range late {
		workers[i] = lease.Worker
	}
	var total, step queue.RecoverResult
	for more := true; more && ctx.Err() == nil; more = step.More {
		var err error
		if step, err = h.recoverStep(ctx, q, fullScan, workers); err != nil {
			if ctx.Err() == nil {
				h.log.Warn("recovery failed", "queue", q.name, "error", err)
			}
			return false
		}
		total.Returned, total.Dead = total.Returned+step.Returned, total.Dead+step.Dead
		if fullScan = false; step.More {
			_ = rdb.Sleep(ctx, time.Millisecond)
		}
	}
	if total.Returned+total.Dead > 0 {
		h.log.Warn("recovered jobs of dead workers", "queue", q.name, "returned", total.Returned, "dead", total.Dead)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, lease := range late {
		if lease.Overdue && !slices.Contains(step.Known, lease.Worker) && ctx.Err() == nil {
			h.recovered = append(h.recovered, lease)
		}
	}
	return step.Spares
}

// recoverTimeout bounds one step of a recovery.
const recoverTimeout = 5 * time.Second

func (h *heartbeat) recoverStep(ctx context.Context, q *servedQueue, fullScan bool, workers []string) (queue.RecoverResult, error) {
	ctx, cancel := context.WithTimeout(ctx, recoverTimeout)
	defer cancel()
	return q.queue.Recover(ctx, h.pool.config.Crashes, fullScan, workers...)
}

// passPause is the least time between the passes of two queues, so that many idle queues cost
// little.
const passPause = 200 * time.Millisecond

// passes recovers each queue with a full scan and deletes its expired data every scanEvery, or
// less often if there are many queues: one after another.
func (h *heartbeat) passes(ctx context.Context) {
	h.forgotten = time.Now().Add(-rand.N(forgetEvery)) // pools do so at different times
	for ctx.Err() == nil {
		queues := h.sched.all()
		pause := max(h.pool.control.scanEvery/time.Duration(max(1, len(queues))), passPause)
		if len(queues) == 0 {
			_ = rdb.Sleep(ctx, pause)
		}
		for _, q := range queues {
			if rdb.Sleep(ctx, pause) != nil {
				return
			}
			h.pass(q)
		}
		h.forgetQueues(ctx)
	}
}

func (h *heartbeat) pass(q *servedQueue) {
	if h.recoverJobs(q.ctx, q, true, nil) {
		h.recoverSpared(q)
	}
	ctx, cancel := context.WithTimeout(q.ctx, recoverTimeout)
	defer cancel()
	if err := q.queue.Tidy(ctx); err != nil && q.ctx.Err() == nil {
		h.log.Warn("old data cannot be removed", "queue", q.name, "error", err)
	}
}

// recoverSpared recovers a queue until no amnesty spares its leases, in a goroutine of its own. A
// full scan that is the first action for long begins one itself, and may have found what no list
// has.
func (h *heartbeat) recoverSpared(q *servedQueue) {
	if q.spared.CompareAndSwap(false, true) {
		h.recoveries.Go(func() {
			defer q.spared.Store(false)
			for rdb.Sleep(q.ctx, h.interval()) == nil && h.recoverJobs(q.ctx, q, false, nil) {
			}
		})
	}
}

// A pool deletes queues that are idle for forgetAfter, each forgetEvery, at most maxForget
// of them.
const (
	forgetAfter = 7 * 24 * time.Hour
	forgetEvery = time.Hour
	maxForget   = 100
)

// forgetQueues deletes idle queues if forgetEvery has passed since it last did.
func (h *heartbeat) forgetQueues(ctx context.Context) {
	if time.Since(h.forgotten) < forgetEvery {
		return
	}
	h.forgotten = time.Now()
	names, err := h.pool.client.ForgetQueues(ctx, forgetAfter, maxForget)
	if len(names) > 0 {
		h.log.Info("deleted idle queues", "queues", names)
	}
	if err != nil && ctx.Err() == nil {
		h.log.Warn("idle queues cannot be deleted", "error", err)
	}
}

// programVersion returns the version of the program that is built in, or else the commit.
var programVersion = sync.OnceValue(func() (version string) {
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	if build.Main.Version != "(devel)" {
		return build.Main.Version
	}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" {
			version = setting.Value[:min(12, len(setting.Value))]
		}
	}
	return version
})

// info returns the description of the pool.
func (p *Pool) info() *queue.PoolInfo {
	host, _ := os.Hostname()
	info := &queue.PoolInfo{
		Name: p.name, Host: host, PID: os.Getpid(), Started: p.born, Concurrency: p.config.Concurrency,
		Kinds: p.executor.kindNames(), State: p.state(), Stuck: int(p.sched.slots.abandoned.Load()), Version: programVersion(),
	}
	var limits []int
	for _, config := range p.control.served() {
		info.Queues = append(info.Queues, config.Name)
		limits = append(limits, config.Concurrency)
	}
	if slices.Max(append(limits, 0)) > 0 {
		info.Limits = limits
	}
	return info
}
