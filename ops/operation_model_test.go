package ops_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/queue"
)

// A badLine loses replies of scripts, and kills the process that sent one.
type badLine struct {
	armed atomic.Bool
	kill  context.CancelFunc

	mu     sync.Mutex // guards the rest
	random *rand.Rand
	left   int // scripts until the process is killed
}

func (l *badLine) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *badLine) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func (l *badLine) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if !l.armed.Load() || cmd.Name() != "evalsha" || err != nil {
			return err
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.left--; l.left == 0 {
			l.kill()
		}
		if l.left <= 0 || l.random.IntN(8) == 0 {
			cmd.SetErr(io.ErrUnexpectedEOF) // it was carried out
			return io.ErrUnexpectedEOF
		}
		return nil
	}
}

// An operationCase is an operation among other changes.
type operationCase struct {
	*fixture
	line   *badLine
	name   string
	random *rand.Rand
	change map[string]bool // by the ids of all jobs: whether the operation must change it
	manual int64           // jobs that were retried otherwise
}

// bury adds dead jobs without running them.
func (c *operationCase) bury(n int) {
	c.Helper()
	base := c.db.Prefix() + ":{" + c.name + ":0}:"
	record := func(kind string) string { return fmt.Sprintf("2n4:kind%d:%s4:args2:{}", len(kind), kind) }
	_, err := c.db.Pipelined(c.Context(), func(pipe redis.Pipeliner) error {
		for i := range n {
			local, kind := fmt.Sprintf("d%x", 1_795_000_000_000_000+i), []string{"even", "odd"}[i%2]
			pipe.HSet(c.Context(), base+"dead:jobs", local, record(kind))
			pipe.ZAdd(c.Context(), base+"dead", redis.Z{Score: float64(1_795_000_000_000 + i/3), Member: local})
			c.change[c.name+":0:"+local] = kind == "odd"
		}
		return nil
	})
	c.must(err)
}

// dieAgain retries a dead job and lets it die again.
func (c *operationCase) dieAgain(id string) {
	c.Helper()
	if c.queues.Retry(c.Context(), id) != nil {
		return // the operation was faster
	}
	c.manual++
	q, err := c.queues.ForPool(c.name)
	c.must(err)
	lease, err := q.NewLease("w"+strings.ReplaceAll(id, ":", "-"), time.Minute)
	c.must(err)
	fetched, err := lease.Fetch(c.Context(), queue.FetchLimits{Jobs: 1000, Bytes: 1 << 20})
	c.must(err)
	for _, job := range fetched.Jobs {
		disposition := queue.AttemptSucceeded // one that the operation has retried
		if job.ID == id {
			disposition = queue.AttemptDead
			c.change[id] = false
		}
		_, err = lease.Finish(c.Context(), []queue.Completion{{Job: job, Disposition: disposition, Reason: "again"}})
		c.must(err)
	}
	_, err = lease.Close(c.Context())
	c.must(err)
}

// meddle changes a few jobs beside the operation.
func (c *operationCase) meddle() {
	for id := range c.change {
		switch c.random.IntN(40) {
		case 0:
			if c.queues.Delete(c.Context(), id) == nil {
				delete(c.change, id)
			}
		case 1:
			c.dieAgain(id)
		}
	}
}

// run runs the operation in one process after the other until it is done.
func (c *operationCase) run(asked *ops.Question) queue.Operation {
	c.Helper()
	run, err := c.client.Operations().Begin(c.Context(), asked)
	c.must(err)
	var before []*ops.OperationRun
	for run.Operation.Status != "done" {
		ctx, kill := context.WithCancel(c.Context())
		c.line.kill, c.line.left = kill, 1+c.random.IntN(9)
		c.line.armed.Store(true)
		err := run.Run(ctx, func(queue.Operation) {})
		c.line.armed.Store(false)
		kill()
		if err == nil {
			break
		}
		c.meddle()
		op, err := c.client.Operations().Get(c.Context(), run.Operation.ID)
		c.must(err)
		if run.Operation = op; op.Status == "done" {
			break // its reply was lost
		}
		c.must(c.db.HSet(c.Context(), c.db.Prefix()+":{"+c.name+":0}:operation", "until", 1).Err())
		before = append(before, run)
		run, err = c.client.Operations().Continue(c.Context(), op.ID)
		c.must(err)
		stale := before[c.random.IntN(len(before))]
		stale.Operation.Status = "running"
		if err := stale.Run(c.Context(), func(queue.Operation) {}); !errors.Is(err, ops.ErrContinued) {
			c.Errorf("a process whose operation was continued: %v", err)
		}
	}
	return run.Operation
}

// TestOperationUnderKillsAndLostRepliesChangesEachJobOnce retries jobs by processes of which each
// is killed after some scripts, on a line that loses replies, while other clients retry and
// delete some of the jobs and others die again.
func TestOperationUnderKillsAndLostRepliesChangesEachJobOnce(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setup(t, db)
		for seed := range uint64(8) {
			random := rand.New(rand.NewPCG(seed, 1))
			line := &badLine{random: rand.New(rand.NewPCG(seed, 2))}
			db.AddHook(line)
			c := &operationCase{f, line, fmt.Sprint("q", seed), random, map[string]bool{}, 0}
			c.bury(1 + random.IntN(400))
			c.meddle() // before it begins
			asked, err := f.client.Operations().Ask(t.Context(), ops.Change{Queue: c.name, Do: "retry", State: queue.Dead, Match: `kind == "odd"`})
			f.must(err)
			for id, died := range c.change { // those that died again by then match too
				job, err := f.queues.Get(t.Context(), id)
				f.must(err)
				c.change[id] = died || job.Kind == "odd"
			}
			c.meddle()
			op := c.run(asked)
			c.check(asked, op)
			if t.Failed() {
				t.Fatalf("with seed %d: %+v", seed, op)
			}
		}
	})
}

func (c *operationCase) check(asked *ops.Question, op queue.Operation) {
	c.Helper()
	if op.Status != "done" || op.Changed > asked.Count {
		c.Errorf("the operation is %+v", op)
	}
	for id, changed := range c.change {
		job, err := c.queues.Get(c.Context(), id)
		switch {
		case errors.Is(err, queue.ErrNoJob) && changed: // changed, and ended when another one died again
		case err != nil:
			c.Errorf("%s: %v", id, err)
		case changed != (job.State == queue.Waiting):
			c.Errorf("%s of kind %s is %s", id, job.Kind, job.State)
		}
	}
	q, err := c.queues.Queue(c.name)
	c.must(err)
	total, _, err := q.Counters(c.Context(), 0)
	c.must(err)
	if total.Revived != int64(op.Changed)+c.manual {
		c.Errorf("%d jobs were retried, %d by others, but the operation says %d", total.Revived, c.manual, op.Changed)
	}
}
