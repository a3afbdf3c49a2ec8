package queue_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/queue"
)

var allStates = []queue.State{queue.Waiting, queue.Active, queue.Delayed, queue.Dead, queue.Finished}

// scan returns the jobs of a state from a cursor on, and the numbers that one read returned.
func (d *fixture) scan(state queue.State, cursor string, limit int) (jobs []*queue.Job, reads []int) {
	d.Helper()
	for {
		page, err := d.queue.Read(soon(d), state, cursor, limit, time.Time{})
		d.must(err)
		jobs, reads = append(jobs, page.Jobs...), append(reads, len(page.Jobs))
		if cursor = page.Next; cursor == "" {
			return jobs, reads
		}
	}
}

// describe returns what a scan and a list must agree in.
func describe(jobs []*queue.Job) (texts []string) {
	for _, j := range jobs {
		texts = append(texts, fmt.Sprint(j.ID, j.State, j.Kind, string(j.Args), j.Priority, j.Worker, j.Due, j.Ended, j.Enqueued, j.Reason, j.Errors, j.Result))
	}
	return texts
}

func TestReadReadsWhatListLists(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		l := d.lease("w")
		for range 3 {
			d.add("done", queue.Options{Retain: time.Hour})
		}
		d.end(l, queue.AttemptSucceeded, d.fetch(l, 3)...)
		for i := range 3 {
			d.dies("mail", fmt.Sprint("error ", i))
		}
		at := time.Now().Add(time.Hour)
		for i := range 12 {
			p := queue.Priority(i%3 - 1)
			d.add("a", queue.Options{Priority: p, MaxAttempts: i})
			d.add("b", queue.Options{Priority: p, At: time.Now().Add(-time.Minute)})
			d.add("c", queue.Options{Priority: p, At: at, MaxAttempts: i % 2})
		}
		d.end(l, queue.AttemptReturned, d.fetch(l, 2)...)
		d.fetch(l, 10)
		for _, state := range allStates {
			page, err := d.queue.List(t.Context(), state, nil)
			d.must(err)
			want := describe(page.Jobs)
			jobs, _ := d.scan(state, "", 4)
			if got := describe(jobs); len(got) < 3 || state != queue.Active && !slices.Equal(got, want) || len(got) != len(want) {
				t.Errorf("%s: scanned\n%s\nlisted\n%s", state, strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			first, err := d.queue.Read(t.Context(), state, "", 3, time.Time{})
			d.must(err)
			for i, cursor := range first.After {
				rest, _ := d.scan(state, cursor, 1)
				if !slices.Equal(describe(rest), want[i+1:]) && state != queue.Active || len(rest) != len(want)-i-1 {
					t.Errorf("%s: the scan after job %d has %d jobs, want %d", state, i, len(rest), len(want)-i-1)
				}
			}
		}
	})
}

func TestReadIsBounded(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		at := time.Now().Add(time.Hour)
		for state, o := range map[queue.State]queue.Options{queue.Waiting: {}, queue.Delayed: {At: at}} {
			o.Queue = "q"
			var jobs []queue.NewJob
			for range 500 {
				jobs = append(jobs, queue.NewJob{Args: queue.Raw("a", []byte("x")), Options: o})
			}
			for _, result := range d.client.EnqueueMany(t.Context(), jobs) {
				d.must(result.Err)
			}
			found, reads := d.scan(state, "", 1000)
			if len(found) != 500 || slices.Max(reads) != 200 {
				t.Errorf("%s: %d jobs in reads of %v", state, len(found), reads)
			}
			page, err := d.queue.Read(t.Context(), state, "", 3, time.Time{})
			if d.must(err); page.Size < 3*len("ax") || page.Size > 300 {
				t.Errorf("%s: the size of three jobs is %d", state, page.Size)
			}
		}
	})
}

func TestReadStopsAtItsBytesPackedOrNot(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	packing, err := queue.NewClient(d.client.DB(), &queue.Config{PackFrom: 1})
	d.must(err)
	t.Cleanup(func() { _ = packing.Close() })
	large := queue.Raw("a", []byte(strings.Repeat("x", 100_000)))
	for state, o := range map[queue.State]queue.Options{queue.Waiting: {}, queue.Delayed: {Delay: time.Hour}} {
		o.Queue = "q"
		for _, client := range []*queue.Client{d.client, packing} {
			for range 10 {
				_, err := client.Enqueue(t.Context(), large, &o)
				d.must(err)
			}
		}
		found, reads := d.scan(state, "", 200)
		ids := map[string]bool{}
		for _, job := range found {
			ids[job.ID] = true
		}
		if len(ids) != 20 || len(found) != 20 || slices.Max(reads) != 3 {
			t.Errorf("%s: %d jobs, %d different ones, in reads of %v", state, len(found), len(ids), reads)
		}
	}
}

// A replySizes remembers the largest reply of HMGET, in bytes.
type replySizes struct{ largest int }

func (r *replySizes) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (r *replySizes) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (r *replySizes) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		err := next(ctx, commands)
		for _, command := range commands {
			size := 0
			if read, ok := command.(*redis.SliceCmd); ok {
				for _, value := range read.Val() {
					text, _ := value.(string)
					size += len(text)
				}
			}
			r.largest = max(r.largest, size)
		}
		return err
	}
}

func TestReadOfJobsByIDIsBoundedThoughLargeOnesFollowSmallOnes(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		at := time.Now().Add(time.Hour)
		var jobs []queue.NewJob
		for i := range 30 {
			args := strings.Repeat("x", 100+i/15*100_000)
			jobs = append(jobs, queue.NewJob{Args: queue.Raw("a", []byte(args)), Options: queue.Options{Queue: "q", At: at.Add(time.Duration(i) * time.Second)}})
		}
		for _, result := range d.client.EnqueueMany(t.Context(), jobs) {
			d.must(result.Err)
		}
		sizes := &replySizes{}
		d.db.AddHook(sizes)
		if found, _ := d.scan(queue.Delayed, "", 200); len(found) != 30 || sizes.largest > 256<<10 || sizes.largest < 200_000 {
			t.Errorf("read %d jobs, by up to %d bytes in one command", len(found), sizes.largest)
		}
	})
}

func TestReadGoesOnBehindManyJobsOfOneTime(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		d := setup(t, db)
		const jobs = 40
		at := time.Now().Add(time.Hour)
		for i := range jobs {
			id := d.add("a", queue.Options{At: at})
			_, local, _ := strings.Cut(id, ":0:")
			d.must(d.db.HSet(t.Context(), d.queue.Key("dead:jobs"), local, "2n4:kind1:a").Err())
			d.must(d.db.ZAdd(t.Context(), d.queue.Key("dead"), redis.Z{Score: float64(1 + i/(jobs-1)), Member: local}).Err())
		}
		for _, state := range []queue.State{queue.Delayed, queue.Dead} {
			for _, limit := range []int{1, 7, 200} {
				found, _ := d.scan(state, "", limit)
				ids := map[string]bool{}
				for _, job := range found {
					ids[job.ID] = true
				}
				if len(found) != jobs || len(ids) != jobs {
					t.Errorf("%s: read %d jobs, %d of them different ones, by %d at a time", state, len(found), len(ids), limit)
				}
			}
		}
	})
}

func TestJobsOfANewerReleaseAreNotRead(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	d.dies("mail", "error")
	d.must(d.db.HSet(t.Context(), d.queue.Key("meta"), "format", "99").Err())
	for _, state := range allStates {
		_, err := d.queue.Read(t.Context(), state, "", 10, time.Time{})
		var format *queue.FormatError
		if !errors.As(err, &format) {
			t.Errorf("%s: %v", state, err)
		}
	}
}

func TestReadReportsWhatItCanNotRead(t *testing.T) {
	t.Parallel()
	for command, state := range map[string]queue.State{"xpending": queue.Active, "xrange": queue.Active, "xrevrange": queue.Waiting, "hmget": queue.Dead} {
		d := setup(t, redistest.Open(t, redistest.Start(t).URL(0)))
		d.dies("mail", "error")
		d.add("a", queue.Options{})
		d.add("a", queue.Options{})
		d.fetch(d.lease("w"), 1)
		d.db.AddHook(&meddler{command: command, act: func() {
			d.must(d.db.Do(t.Context(), "acl", "setuser", "default", "-"+command).Err())
		}})
		_, err := d.queue.Read(t.Context(), state, "", 10, time.Time{})
		if err == nil || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("%s: %v", command, err)
		}
		d.must(d.db.Do(t.Context(), "acl", "setuser", "default", "+"+command).Err())
	}
}

// A meddler calls a function once, before a pipeline that has a command.
type meddler struct {
	command string
	act     func()
	acted   atomic.Bool
}

func (m *meddler) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (m *meddler) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (m *meddler) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, commands []redis.Cmder) error {
		has := slices.ContainsFunc(commands, func(c redis.Cmder) bool { return c.Name() == m.command })
		if has && m.acted.CompareAndSwap(false, true) {
			m.act()
		}
		return next(ctx, commands)
	}
}

func TestReadLeavesOutJobsThatLeaveBetweenItsCommands(t *testing.T) {
	t.Parallel()
	for command, c := range map[string]struct {
		state queue.State
		o     queue.Options
		leave func(*fixture, string)
	}{
		"hmget":  {queue.Delayed, queue.Options{At: time.Now().Add(time.Hour)}, func(d *fixture, id string) { d.must(d.client.Delete(d.Context(), id)) }},
		"xrange": {queue.Waiting, queue.Options{}, func(d *fixture, _ string) { d.fetch(d.lease("w"), 1) }},
	} {
		d := setup(t, redistest.DB(t))
		gone, stays := d.add("a", c.o), d.add("a", c.o)
		d.db.AddHook(&meddler{command: command, act: func() { c.leave(d, gone) }})
		jobs, _ := d.scan(c.state, "", 10)
		if len(jobs) != 1 || jobs[0].ID != stays {
			t.Errorf("%s: %v", c.state, describe(jobs))
		}
	}
}

func TestReadShowsDamagedJobs(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	d.add("a", queue.Options{})
	d.must(d.db.ZAdd(t.Context(), d.key("dead"), redis.Z{Score: 5, Member: "d5"}).Err())
	d.must(d.db.HSet(t.Context(), d.key("delayed:jobs"), "d6", "2n4:kin").Err())
	d.must(d.db.ZAdd(t.Context(), d.key("delayed"), redis.Z{Score: 6, Member: "d6"}).Err())
	for _, state := range []queue.State{queue.Dead, queue.Delayed} {
		jobs, _ := d.scan(state, "", 10)
		if len(jobs) != 1 || !strings.HasPrefix(jobs[0].Reason, "malformed: ") {
			t.Errorf("%s: %v", state, describe(jobs))
		}
	}
}

func TestReadRefusesWhatIsNoCursor(t *testing.T) {
	t.Parallel()
	d := setup(t, redistest.DB(t))
	for state, cursor := range map[queue.State]string{queue.Waiting: "5 d1", queue.Active: "99 0-0 0-0", queue.Dead: "x", "asleep": ""} {
		if _, err := d.queue.Read(t.Context(), state, cursor, 1, time.Time{}); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("%s %q: %v", state, cursor, err)
		}
	}
}
