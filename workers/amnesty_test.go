package workers_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/redistest"
	"skidway/queue"
	"skidway/workers"
)

// A failedRenewals is the log of a pool. It sends to the channel for each renewal of a
// lease that has failed.
type failedRenewals struct {
	io.Writer
	failed chan struct{}
}

func (w failedRenewals) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("lease cannot be renewed")) {
		w.failed <- struct{}{}
	}
	return w.Writer.Write(line)
}

// A pool tries to renew a lease five times in its length: after eight failures all leases
// have expired.
func TestOutageLongerThanTheLeaseRunsNothingTwice(t *testing.T) {
	t.Parallel()
	const pools, slots, lease = 4, 8, time.Second
	server := redistest.Start(t, redistest.Survives...)
	f := newFixture(t, redistest.Open(t, server.URL(0)))
	lost := f.add("k", queue.Options{})
	dying, err := f.queue.NewLease("dying-worker", lease)
	f.must(err)
	if fetched, err := dying.Fetch(f.ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20}); err != nil || len(fetched.Jobs) != 1 {
		t.Fatal(fetched, err)
	}

	var failed []chan struct{}
	var leasesLost atomic.Int64
	begun, gate := make(chan string, 1000), make(chan struct{})
	for range pools {
		log := failedRenewals{f.kept, make(chan struct{}, 1000)}
		failed = append(failed, log.failed)
		p := f.pool(workers.Config{
			Concurrency: slots, Lease: lease, Logger: slog.New(slog.NewTextHandler(log, nil)),
			Hooks: workers.Hooks{LeaseLost: func(string) { leasesLost.Add(1) }},
		})
		p.HandleRaw("k", func(ctx context.Context, job *queue.Job) error {
			begun <- job.ID
			select {
			case <-gate:
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		}, workers.Kind{})
		f.run(p)
	}
	renew := func() {
		_, err := dying.Renew(f.ctx)
		f.must(err)
	}
	for range pools*slots - 1 { // the last slot is for the job of the dying worker
		f.add("k", queue.Options{})
		renew()
	}
	for range pools*slots - 1 {
		await(f, begun, "start")
		renew()
	}
	server.Kill()
	for _, failed := range failed {
		for range 4 {
			await(f, failed, "failed renewal")
		}
	}
	f.must(server.Restart())
	back := time.Now()
	for total := (queue.Counts{}); total.LostLeases == 0; {
		total, _, err = f.queue.Counters(f.ctx, 0)
		f.must(err)
	}
	// Without the list of open leases only the full scan would find it, once a minute.
	if took := time.Since(back); took > 15*time.Second {
		t.Errorf("the job of the worker that died in the outage was recovered after %s", took)
	}
	close(gate)
	if id := await(f, begun, "job of the worker that died in the outage"); id != lost {
		t.Errorf("job %s runs again", id)
	}
	f.awaitDepth(0, 0)
	if again := len(begun); again > 0 || leasesLost.Load() > 0 {
		t.Errorf("%d jobs ran again, %d leases were lost", again, leasesLost.Load())
	}
	if total, _, err := f.queue.Counters(f.ctx, 0); err != nil || total.Succeeded != pools*slots || total.LostLeases != 1 {
		t.Errorf("the counters are %+v, %v", total, err)
	}
}

// takeAndDie fetches the only job under a lease that is never renewed, as a worker does that is
// killed.
func (f *fixture) takeAndDie(lease time.Duration) {
	f.Helper()
	dying, err := f.queue.NewLease("dying-worker", lease)
	f.must(err)
	if fetched, err := dying.Fetch(f.ctx, queue.FetchLimits{Jobs: 1, Bytes: 1 << 20}); err != nil || len(fetched.Jobs) != 1 {
		f.Fatal(fetched, err)
	}
}

// hadAmnesty reports whether the queue had an amnesty.
func (f *fixture) hadAmnesty() bool {
	f.Helper()
	had, err := f.db.HExists(f.ctx, f.key("meta"), "amnesty_begun").Result()
	f.must(err)
	return had
}

// The other pool holds no job of the queue.
func TestJobsOfAKilledWorkerRunWhenItsLeaseExpires(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		const lease = 6 * time.Second // a pause of the machine of more than half of it starts an amnesty
		id := f.add("k", queue.Options{})
		p := f.pool(workers.Config{Lease: lease})
		handler, seen := recorder()
		p.HandleRaw("k", handler, workers.Kind{})
		began := time.Now()
		f.takeAndDie(lease)
		f.run(p)
		job := await(f, seen, "job of the killed worker")
		took := time.Since(began)
		if job.ID != id || took < lease || f.hadAmnesty() {
			f.Errorf("job %s ran after %s; amnesty: %t", job.ID, took, f.hadAmnesty())
		}
		const busy = 3 * time.Second // while other tests run
		if late := took - lease; late > time.Duration(2*float64(lease)/queue.BeatsPerLease)+busy {
			f.Errorf("it ran %s after the lease had expired", late)
		}
	})
}

func TestFirstPoolAfterAllHaveDiedRecoversTheirJobsAfterOneAmnesty(t *testing.T) {
	onAllBackends(t, func(f *fixture) {
		const lease, amnesty = time.Second, 1800 * time.Millisecond // 0.8 leases and 1 s
		const busy = 10 * time.Second                               // while other tests run
		id := f.add("k", queue.Options{})
		f.takeAndDie(lease)
		ago := time.Now().Add(-time.Hour).UnixMilli() // the worker died then
		f.must(f.db.HSet(f.ctx, f.key("meta"), "renewed", ago).Err())
		f.must(f.db.ZAdd(f.ctx, f.key("leases"), redis.Z{Score: float64(ago + lease.Milliseconds()), Member: "dying-worker"}).Err())
		p := f.pool(workers.Config{Lease: lease})
		handler, seen := recorder()
		p.HandleRaw("k", handler, workers.Kind{})
		began := time.Now()
		f.run(p)
		job := await(f, seen, "job of the dead worker")
		if took := time.Since(began); job.ID != id || !f.hadAmnesty() || took < amnesty || took > amnesty+busy {
			f.Errorf("job %s ran after %s; amnesty: %t", job.ID, took, f.hadAmnesty())
		}
	})
}

// Such rows stay in the list for 30 days.
func TestLateLeasesThatNoPoolRecoversDoNotDelayTheRecoveryOfOthers(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	var rows []redis.Z
	for i := range 1300 {
		row := fmt.Sprintf("gone%d worker-%d 10000", i, i)
		if i%2 == 0 {
			row += " of another release"
		}
		rows = append(rows, redis.Z{Score: float64(time.Now().Add(-time.Hour).UnixMilli()), Member: row})
	}
	f.must(f.db.ZAdd(f.ctx, f.db.Prefix()+":{queues}:leases", rows...).Err())
	id := f.add("k", queue.Options{})
	f.takeAndDie(shortLease)
	p := f.pool(workers.Config{})
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{})
	f.run(p)
	if job := await(f, seen, "job of the dead worker"); job.ID != id {
		t.Errorf("job %s ran", job.ID)
	}
}

// The list of open leases has lost the lease, and no worker has served the queue for long.
func TestFullScanThatBeginsAnAmnestyIsFollowedByRecoveryAtItsEnd(t *testing.T) {
	t.Parallel()
	f := newFixture(t, redistest.DB(t))
	f.add("k", queue.Options{})
	f.takeAndDie(shortLease)
	f.must(f.db.Del(f.ctx, f.db.Prefix()+":{queues}:leases").Err())
	ago := time.Now().Add(-time.Hour).UnixMilli()
	f.must(f.db.HSet(f.ctx, f.key("meta"), "renewed", ago).Err())
	queues := []workers.Queue{{Name: "q"}} // which is scanned first, and again after scanEvery
	for i := range 20 {
		queues = append(queues, workers.Queue{Name: fmt.Sprint("other-", i)})
	}
	const scanEvery = 15 * time.Second
	p := f.pool(workers.Config{Queues: queues})
	p.SetScanEvery(scanEvery)
	handler, seen := recorder()
	p.HandleRaw("k", handler, workers.Kind{})
	began := time.Now()
	f.run(p)
	await(f, seen, "job of the dead worker")
	if took := time.Since(began); !f.hadAmnesty() || took > scanEvery {
		t.Errorf("it ran after %s; amnesty: %t", took, f.hadAmnesty())
	}
}
