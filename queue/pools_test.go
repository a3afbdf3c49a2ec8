package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

// beat is Beat of a pool with leases of a minute.
func (d *fixture) beat(beat queue.PoolBeat) queue.BeatResult {
	d.Helper()
	beat.Pool, beat.Length = "pool", time.Minute
	result, err := d.client.Beat(d.Context(), beat)
	d.must(err)
	return result
}

// openLeases returns the rows of the list of open leases, by the time from which they are late.
func (d *fixture) openLeases() []redis.Z {
	d.Helper()
	rows, err := d.db.ZRangeWithScores(d.Context(), d.db.Prefix()+":{queues}:leases", 0, -1).Result()
	d.must(err)
	return rows
}

// makeLate makes the rows of open leases late by so much.
func (d *fixture) makeLate(by time.Duration) {
	d.Helper()
	for i, row := range d.openLeases() {
		row.Score = float64(time.Now().Add(-by).UnixMilli() - int64(1000*i))
		d.must(d.db.ZAdd(d.Context(), d.db.Prefix()+":{queues}:leases", row).Err())
	}
}

func workersOf(late []queue.LateLease) (names []string) {
	for _, lease := range late {
		names = append(names, lease.Worker)
	}
	return names
}

// With leases of a minute a row is late after 12 s, and pools with open leases beat each 9 s.
func TestNextBeatComesBeforeTheFirstLateLeaseMustBeRecovered(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		const interval, late = 9 * time.Second, 12 * time.Second
		want := func(what string, got, want time.Duration) {
			t.Helper()
			if got > want+100*time.Millisecond || got < want-2*time.Second { // the embedded server has a clock of its own
				t.Errorf("%s: the next beat comes in %v, want %v", what, got, want)
			}
		}
		want("no lease is open", d.beat(queue.PoolBeat{}).Next, interval+late)
		lease, err := d.queue.NewLease("worker", time.Minute)
		d.must(err)
		d.beat(queue.PoolBeat{Renew: []*queue.Lease{lease}})
		want("a lease was opened", d.beat(queue.PoolBeat{}).Next, interval+late)
		want("the pool has a lease", d.beat(queue.PoolBeat{Renew: []*queue.Lease{lease}}).Next, interval)
		removed := make([]*queue.Lease, 251) // more than one call removes
		for i := range removed {
			removed[i] = d.lease(fmt.Sprint("removed-", i))
		}
		want("the pool has a lease and closed many", d.beat(queue.PoolBeat{Renew: []*queue.Lease{lease}, Remove: removed}).Next, interval)
		d.makeLate(-5 * time.Second)
		want("a lease will be late", d.beat(queue.PoolBeat{}).Next, interval+5*time.Second)
		d.makeLate(time.Second)
		want("a lease is late", d.beat(queue.PoolBeat{}).Next, interval)
	})
}

func TestPoolsAreListedUntilTheyEnd(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		if result := d.beat(queue.PoolBeat{}); !result.Describe {
			t.Error("a pool that Redis does not know need not be described")
		}
		info := queue.PoolInfo{Host: "tern", PID: 7, Queues: []string{"q", "tenant-*"}, Kinds: []string{"k"}, State: "running"}
		for _, info := range []*queue.PoolInfo{&info, nil} {
			if result := d.beat(queue.PoolBeat{Info: info}); result.Describe {
				t.Error("a pool that is described must be described again")
			}
		}
		pools, err := d.client.Pools(t.Context())
		d.must(err)
		if len(pools) != 1 || pools[0].Name != "pool" || pools[0].Host != "tern" || pools[0].PID != 7 || pools[0].Expires <= 50*time.Second {
			t.Fatalf("the pools are %+v", pools)
		}
		for name, want := range map[string]bool{"q": true, "tenant-1": true, "r": false} {
			living, err := d.client.LivingPools(t.Context(), name)
			if got := len(living) == 1; err != nil || got != want || got != pools[0].Serves(name) {
				t.Errorf("pools that serve %s: %+v, %v", name, living, err)
			}
		}
		d.must(d.db.ZAdd(t.Context(), db.Prefix()+":{queues}:pools:expiry", redis.Z{Score: 1e12 + 1, Member: "pool"}).Err())
		if living, err := d.client.LivingPools(t.Context(), "q"); err != nil || len(living) > 0 {
			t.Errorf("a pool that has expired lives: %+v, %v", living, err)
		}
		_, err = d.client.Beat(t.Context(), queue.PoolBeat{Pool: "other", Length: time.Minute, Info: &info})
		d.must(err)
		_, err = d.client.Beat(t.Context(), queue.PoolBeat{Pool: "other"})
		d.must(err)
		if pools, err := d.client.Pools(t.Context()); err != nil || len(pools) > 0 {
			t.Errorf("pools that have expired long ago, or ended, are listed: %+v, %v", pools, err)
		}
		if _, err := d.client.Beat(t.Context(), queue.PoolBeat{Pool: "no name"}); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("an invalid name: %v", err)
		}
	})
}

func TestOpenLeaseIsListedBeforeItIsOpened(t *testing.T) {
	t.Parallel()
	d, proxy := setupProxied(t)
	d.add("a", queue.Options{})
	d.beat(queue.PoolBeat{}) // so that Redis knows the script
	proxy.RefuseCommands(1, ":{q:0}:", "ERR refused")
	l := d.lease("w")
	if _, err := l.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1}); err == nil || l.IsOpen() {
		t.Fatalf("the fetch that is refused: %v", err)
	}
	if rows := d.openLeases(); len(rows) != 1 || rows[0].Member != "q w 60000" {
		t.Errorf("the open leases are %v", rows)
	}
	proxy.LoseCommands(":{queues}:leases")
	other := d.lease("other")
	if _, err := other.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1}); err == nil || other.IsOpen() {
		t.Errorf("a lease that cannot be listed is opened: %v", err)
	}
	proxy.LoseCommands("")
	if depth, err := d.queue.Depth(t.Context()); err != nil || depth.Active > 0 {
		t.Errorf("%+v, %v", depth, err)
	}
}

func TestLateLeasesAreReturnedUntilTheyAreRenewedOrRemoved(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		var leases []*queue.Lease
		for i := range 3 {
			d.add("a", queue.Options{})
			leases = append(leases, d.lease(fmt.Sprint("w", i)))
			d.fetch(leases[i], 1)
		}
		if late := d.beat(queue.PoolBeat{}).Late; len(late) > 0 {
			t.Errorf("leases that were just opened are late: %+v", late)
		}
		d.makeLate(time.Second)
		late := d.beat(queue.PoolBeat{}).Late
		if got := workersOf(late); !slices.Equal(got, []string{"w0", "w1", "w2"}) || late[0].Queue != "q" || late[0].Overdue {
			t.Fatalf("late are %+v", late)
		}
		late = d.beat(queue.PoolBeat{Renew: leases[:1], Remove: leases[1:2]}).Late
		if got := workersOf(late); !slices.Equal(got, []string{"w2"}) {
			t.Fatalf("late are %v after one was renewed and one removed", got)
		}
		d.makeLate(50 * time.Second)
		late = d.beat(queue.PoolBeat{}).Late
		if got := workersOf(late); !slices.Equal(got, []string{"w2", "w0"}) || !late[0].Overdue {
			t.Fatalf("late are %+v", late)
		}
		d.beat(queue.PoolBeat{Renew: leases[:1]}) // it was not dead
		d.beat(queue.PoolBeat{Recovered: late})
		if rows := d.openLeases(); len(rows) != 1 || rows[0].Member != "q w0 60000" {
			t.Errorf("the open leases are %v", rows)
		}
	})
}

// Leases that no pool recovers must not hide others.
func TestLateLeasesBeyondOneBeatFollowInTheNext(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	var leases []*queue.Lease
	for i := range 1300 { // more than one call changes
		l, err := d.queue.NewLease(fmt.Sprint("w", i), time.Minute)
		d.must(err)
		leases = append(leases, l)
	}
	d.beat(queue.PoolBeat{Renew: leases})
	d.makeLate(time.Second)
	seen := map[string]bool{}
	last := d.openLeases()[len(leases)-1].Member
	result := queue.BeatResult{}
	for beats := range 7 { // (1,300 - 100) / 200, and one that finds no more
		result = d.beat(queue.PoolBeat{Skip: result.Skip})
		for _, name := range workersOf(result.Late) {
			seen[name] = true
		}
		if newest := "q " + result.Late[0].Worker + " 60000"; newest != last || len(result.Late) > 300 {
			t.Errorf("beat %d: %d late leases, first %s; %s became late last", beats, len(result.Late), newest, last)
		}
	}
	if len(seen) != len(leases) || result.Skip != 0 {
		t.Errorf("%d of %d late leases were returned, %d are skipped next", len(seen), len(leases), result.Skip)
	}
	d.beat(queue.PoolBeat{Remove: leases})
	if rows := d.openLeases(); len(rows) > 0 {
		t.Errorf("%d rows are left", len(rows))
	}
}
