package queue

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"skidway/internal/rdb"
)

// A PoolInfo describes a pool of workers. It is JSON in Redis.
type PoolInfo struct {
	Name        string    `json:"name"`
	Host        string    `json:"host"`
	PID         int       `json:"pid"`
	Started     time.Time `json:"started"`
	Concurrency int       `json:"concurrency"`
	Queues      []string  `json:"queues"`            // names and patterns
	Kinds       []string  `json:"kinds"`             // that have a handler; nil if it is not known
	State       string    `json:"state"`             // running, quiet or stopping
	Stuck       int       `json:"stuck"`             // abandoned handlers that have not returned
	Version     string    `json:"version,omitempty"` // of the program, as Go has built it in; empty if it is not known

	// Limits are of Queues: how many jobs of each queue run at a time, zero for no limit but that
	// of the pool. It is nil if no queue has a limit.
	Limits []int `json:"limits,omitempty"`

	Expires time.Duration `json:"-"` // until the pool is dead unless it is renewed; negative if it is
}

// Serves reports whether the pool serves a queue, by its name or a pattern.
func (p *PoolInfo) Serves(queue string) bool {
	return p.placeOf(queue) >= 0
}

// Free returns how many of the pool's slots are free for jobs of a queue. heldBy is how many jobs
// the pool holds, by queue, from [HeldByPools].
func (p *PoolInfo) Free(queue string, heldBy map[string]int) int {
	free := p.Concurrency
	for _, n := range heldBy {
		free -= min(n, free)
	}
	if place := p.placeOf(queue); place >= 0 && place < len(p.Limits) && p.Limits[place] > 0 {
		free = min(free, p.Limits[place]-heldBy[queue])
	}
	return max(0, free)
}

// placeOf returns the place of a queue in Queues: that of its name, else of the first pattern that
// matches, else -1.
func (p *PoolInfo) placeOf(queue string) int {
	if place := slices.Index(p.Queues, queue); place >= 0 {
		return place
	}
	return slices.IndexFunc(p.Queues, func(pattern string) bool {
		matches, _ := path.Match(pattern, queue)
		return matches
	})
}

// TakesJobs reports whether the pool takes jobs: it is neither quiet nor stopping.
func (p *PoolInfo) TakesJobs() bool { return p.State != "quiet" && p.State != "stopping" }

// Pools returns all pools, the first to expire first. Those that have died are among them for
// an hour or longer.
func (c *Client) Pools(ctx context.Context) ([]PoolInfo, error) {
	reply, err := poolsScript.Run(ctx, c.db, registryKeys(c.prefix))
	if err != nil {
		return nil, err
	}
	var pools []PoolInfo
	for i := 0; i+2 < reply.Len(); i += 3 {
		var pool PoolInfo
		_ = json.Unmarshal([]byte(reply.Text(i+2)), &pool) // other programs may use another form
		pool.Name = reply.Text(i)
		pool.Expires = time.Duration(reply.Int(i+1)) * time.Millisecond
		pools = append(pools, pool)
	}
	return pools, nil
}

// LivingPools returns the pools that serve a queue and have not expired.
func (c *Client) LivingPools(ctx context.Context, queue string) ([]PoolInfo, error) {
	pools, err := c.Pools(ctx)
	return slices.DeleteFunc(pools, func(pool PoolInfo) bool { return pool.Expires < 0 || !pool.Serves(queue) }), err
}

// CountPools returns how many pools live at a time by the clock of Redis.
func CountPools(ctx context.Context, c *Client, now time.Time) (n int, err error) {
	err = c.db.Retry(ctx, func() error {
		living, err := c.db.ZCount(ctx, registryKeys(c.prefix)[5], strconv.FormatInt(now.UnixMilli(), 10), "+inf").Result()
		n = int(living)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count pools: %w", err)
	}
	return n, nil
}

// Pool returns the name of the pool that has the lease.
func (w WorkerInfo) Pool() string {
	if dot := strings.LastIndexByte(w.Name, '.'); dot > 0 {
		return w.Name[:dot]
	}
	return w.Name
}

// openLeases returns the workers with an open lease, by its queue. Held is [math.MaxInt], for unknown.
func openLeases(ctx context.Context, c *Client) (map[string][]WorkerInfo, error) {
	leases := registryKeys(c.prefix)[slices.Index(registryKeyNames, "leases")]
	var rows []string
	err := c.db.Retry(ctx, func() (err error) {
		rows, err = c.db.ZRange(ctx, leases, 0, -1).Result()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read the open leases: %w", err)
	}
	open := map[string][]WorkerInfo{}
	for _, row := range rows {
		if parts := strings.Split(row, " "); len(parts) == 3 { // others are of another release
			open[parts[0]] = append(open[parts[0]], WorkerInfo{Name: parts[1], Held: math.MaxInt})
		}
	}
	return open, nil
}

// LeasedQueues returns the names of the queues of which pools have open leases, in one read.
func LeasedQueues(ctx context.Context, c *Client) ([]string, error) {
	open, err := openLeases(ctx, c)
	return slices.Collect(maps.Keys(open)), err
}

// maxLeaseReads bounds the queues whose leases HeldByPools reads at the same time.
const maxLeaseReads = 16

// HeldByPools returns how many jobs each pool holds, by the names of the pool and the queue, of
// all queues of which it has an open lease. The number is [math.MaxInt] if Redis did not answer
// for one of these queues. Queues of another release are left out. The error reports that the list
// of open leases could not be read.
func HeldByPools(ctx context.Context, c *Client) (map[string]map[string]int, error) {
	open, err := openLeases(ctx, c)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	held := map[string]map[string]int{}
	var reads sync.WaitGroup
	slots := make(chan struct{}, maxLeaseReads)
	for name, unread := range open {
		q, err := c.Queue(name)
		if err != nil {
			continue
		}
		slots <- struct{}{}
		reads.Go(func() {
			defer func() { <-slots }()
			workers, err := q.Workers(ctx)
			var format *FormatError
			if err != nil && !errors.As(err, &format) {
				workers = unread
			}
			mu.Lock()
			defer mu.Unlock()
			for _, worker := range workers {
				pool := worker.Pool()
				if held[pool] == nil {
					held[pool] = map[string]int{}
				}
				held[pool][name] += min(worker.Held, math.MaxInt-held[pool][name])
			}
		})
	}
	reads.Wait()
	return held, nil
}

// The list of open leases has a row for each: the queue, the worker and the length. A pool
// renews its rows with its own entry, BeatsPerLease times in the length of a lease; leases are
// renewed RenewalsPerLease times. A row that was not renewed for lateAfter times the length is
// late: the pool may be dead. From then on other pools that serve the queue call
// [PoolQueue.Recover] at each beat. The first call comes within
//
//	1/RenewalsPerLease + lateAfter + 1/BeatsPerLease = 0.55
//
// lengths after the last renewal of the lease. So the queue has had no silence of 0.6 lengths,
// see lua/amnesty.lua, and the lease is buried as soon as it expires. After an outage of Redis
// there was one, and an amnesty begins.
//
// A pool without open leases has no rows to renew. Its next beat is the first that may find a
// late one: 1/BeatsPerLease after the first row is late, or may be if it does not exist yet.
const (
	RenewalsPerLease = 5.0
	BeatsPerLease    = 1 / 0.15

	lateAfter = 0.2
)

// row returns the member of the lease in the list of open leases.
func (l *Lease) row() string {
	return l.queue.name + " " + l.worker + " " + strconv.FormatInt(l.length.Milliseconds(), 10)
}

// addRow returns a step that adds the lease to the list of open leases, or renews it there. It is
// left out while the master of a Cluster that has the list is away: the queues of other masters do
// not wait for it. The next beat that succeeds adds the row. If the pool dies before that, pools
// find the lease when they recover each of their queues, which they do when the list is back.
func (l *Lease) addRow() rdb.Step {
	c := l.queue.client
	beat := PoolBeat{Length: l.length, Renew: []*Lease{l}}
	return rdb.Step{
		Script: poolBeatScript, Call: rdb.Call{Keys: registryKeys(c.prefix), Args: beat.args()}, Absence: &c.listAbsence,
	}
}

// A LateLease is an open lease that its pool has not renewed in time.
type LateLease struct {
	Queue, Worker string
	Overdue       bool // for so long that the lease has expired

	row, since string
}

// A PoolBeat is what a pool writes with one [Client.Beat].
type PoolBeat struct {
	Pool      string
	Length    time.Duration // of the pool's leases and of its entry in the list of pools; zero if the pool has ended
	Info      *PoolInfo     // nil if it has not changed
	Renew     []*Lease      // open ones
	Remove    []*Lease      // closed ones, and those that were not opened
	Recovered []LateLease   // overdue ones that have no jobs any more
	Skip      int           // from the result of the previous beat
}

// A beat returns the maxNewlyLate leases that became late last, and maxLate of the others: the next
// beat returns those that follow. So leases that no pool recovers, because the queue was deleted or
// all pools that served it have ended, hide no other one. maxBeatRows bounds the rows that one call
// changes.
const (
	maxNewlyLate = 100
	maxLate      = 200
	maxBeatRows  = 250
)

// A BeatResult is the result of [Client.Beat].
type BeatResult struct {
	Late     []LateLease // of all pools, those that became late last, then others
	Skip     int         // for the next PoolBeat: it returns other leases that have been late for long
	Describe bool        // whether Redis does not know the pool: the next beat must have its Info

	Next time.Duration // how long the next beat may be away
}

// Beat renews the entry of a pool and its open leases, or removes the entry if the pool has
// ended, and returns leases that are late.
func (c *Client) Beat(ctx context.Context, beat PoolBeat) (BeatResult, error) {
	if err := checkNewName("pool", beat.Pool); err != nil {
		return BeatResult{}, err
	}
	renews := len(beat.Renew) > 0 // the last call may only have rows of the other sorts
	for max(len(beat.Renew), len(beat.Remove), len(beat.Recovered)) > maxBeatRows {
		rows := PoolBeat{Length: beat.Length}
		rows.Renew, beat.Renew = cutRows(beat.Renew)
		rows.Remove, beat.Remove = cutRows(beat.Remove)
		rows.Recovered, beat.Recovered = cutRows(beat.Recovered)
		if _, err := sendBeat(ctx, c, rows); err != nil {
			return BeatResult{}, err
		}
	}
	reply, err := sendBeat(ctx, c, beat)
	if err != nil {
		return BeatResult{}, err
	}
	result := BeatResult{Describe: reply.Int(0) == 1, Next: nextBeat(reply, beat.Length, renews)}
	if reply.Len() >= 2+3*(maxNewlyLate+maxLate) {
		result.Skip = beat.Skip + maxLate
	}
	for i := 2; i+2 < reply.Len(); i += 3 {
		late := LateLease{row: reply.Text(i), since: reply.Text(i + 1)}
		parts := strings.Split(late.row, " ")
		if len(parts) != 3 {
			continue // of another release
		}
		late.Queue, late.Worker = parts[0], parts[1]
		length, _ := strconv.ParseFloat(parts[2], 64)
		late.Overdue = float64(reply.Int(i+2)) > (1-lateAfter)*length
		result.Late = append(result.Late, late)
	}
	return result, nil
}

// nextBeat returns how long the beat after a reply may be away, of a pool that renews leases of a
// length, or has none to renew.
func nextBeat(reply rdb.Reply, length time.Duration, renews bool) time.Duration {
	next := time.Duration(float64(length) / BeatsPerLease)
	if renews {
		return next
	}
	late := time.Duration(lateAfter * float64(length)) // a row that does not exist yet
	if reply.Text(1) != "" {
		late = min(late, time.Duration(reply.Int(1))*time.Millisecond)
	}
	return next + max(0, late)
}

// sendBeat is Beat for at most maxBeatRows of each sort.
func sendBeat(ctx context.Context, c *Client, beat PoolBeat) (rdb.Reply, error) {
	return poolBeatScript.Run(ctx, c.db, registryKeys(c.prefix), beat.args()...)
}

// args returns the arguments of pool_beat.lua.
func (beat PoolBeat) args() []any {
	info := ""
	if beat.Info != nil {
		text, _ := json.Marshal(beat.Info) // strings, numbers and times always marshal
		info = string(text)
	}
	late := time.Duration(lateAfter * float64(beat.Length))
	args := []any{beat.Pool, millis(beat.Length), info, millis(late), maxNewlyLate, beat.Skip, maxLate}
	for _, leases := range [][]*Lease{beat.Renew, beat.Remove} {
		args = append(args, len(leases))
		for _, lease := range leases {
			args = append(args, lease.row())
		}
	}
	for _, late := range beat.Recovered {
		args = append(args, late.row, late.since)
	}
	return args
}

// cutRows returns the first rows, at most maxBeatRows, and the others.
func cutRows[T any](rows []T) (first, rest []T) {
	n := min(len(rows), maxBeatRows)
	return rows[:n], rows[n:]
}
