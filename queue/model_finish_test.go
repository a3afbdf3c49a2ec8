package queue_test

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"

	"skidway/queue"
)

func (m *machine) Finish(t *rapid.T) {
	w := m.busy(t)
	if len(w.given) == 0 {
		t.Skip("it was given nothing")
	}
	recent := w.given[max(0, len(w.given)-6):]
	var endings []queue.Completion
	var ended []handed
	for range rapid.IntRange(1, 5).Draw(t, "endings") {
		h := pick(t, "job", recent)
		same := func(other handed) bool { return other.job == h.job && other.spot == h.spot }
		if i := slices.IndexFunc(ended, same); i >= 0 { // the same completion twice is allowed
			endings, ended = append(endings, endings[i]), append(ended, h)
			continue
		}
		e := queue.Completion{Job: h.got, Disposition: queue.Disposition(rapid.IntRange(0, int(queue.AttemptReturned)).Draw(t, "as"))}
		switch e.Disposition {
		case queue.AttemptSucceeded:
			e.Result = []byte(rapid.SampledFrom([]string{"", "result"}).Draw(t, "result"))
		case queue.AttemptRetry, queue.AttemptSnoozed:
			e.Wait = time.Duration(rapid.IntRange(0, 2).Draw(t, "wait")) * time.Minute
			e.Reason = fmt.Sprint("failure ", m.scores)
		case queue.AttemptDiscarded, queue.AttemptDead:
			e.Reason = "because"
		}
		endings, ended = append(endings, e), append(ended, h)
	}
	m.finish(t, w, endings, ended)
}

// Work fetches jobs and finishes them, as workers mostly do.
func (m *machine) Work(t *rapid.T) {
	m.only = m.worker(t)
	defer func() { m.only = nil }()
	m.Fetch(t)
	m.Check(t)
	m.Finish(t)
}

// FinishBatch finishes many jobs of one line at once, while one of them is held.
func (m *machine) FinishBatch(t *rapid.T) {
	w := m.worker(t)
	if !w.row || m.model.paused {
		t.Skip("nothing is given to it")
	}
	options := queue.Options{Queue: modelQueue, Priority: rapid.SampledFrom([]queue.Priority{queue.Normal, queue.High, queue.Low}).Draw(t, "priority")}
	jobs := make([]*modelJob, rapid.IntRange(18, 40).Draw(t, "jobs"))
	for i := range jobs {
		m.serial++
		jobs[i] = &modelJob{kind: "k", args: fmt.Sprint(m.serial), options: options}
	}
	m.enqueueMany(t, jobs)
	m.Check(t)
	m.fetch(t, w, queue.FetchLimits{Jobs: 1000, Bytes: 1 << 20})
	m.Check(t)
	held := pick(t, "held", jobs)
	var endings []queue.Completion
	var ended []handed
	for _, h := range w.given {
		if slices.Contains(jobs, h.job) && h.job != held {
			endings, ended = append(endings, queue.Completion{Job: h.got}), append(ended, h)
		}
	}
	m.finish(t, w, endings, ended)
}

// FinishAll finishes all jobs of a worker, as pools do.
func (m *machine) FinishAll(t *rapid.T) {
	w := m.busy(t)
	as := queue.Disposition(rapid.IntRange(0, int(queue.AttemptReturned)).Draw(t, "as"))
	var endings []queue.Completion
	var ended []handed
	for _, h := range w.given {
		if h.job.worker == w.name && h.job.spot() == h.spot && !slices.ContainsFunc(ended, func(other handed) bool { return other.job == h.job }) {
			endings, ended = append(endings, queue.Completion{Job: h.got, Disposition: as}), append(ended, h)
		}
	}
	if len(endings) > 0 {
		m.finish(t, w, endings, ended)
	}
}

func (m *machine) finish(t *rapid.T, w *modelWorker, endings []queue.Completion, ended []handed) {
	now := nowMillis()
	changed, err := m.leases[w].Finish(ctx, endings)
	if m.lost(t, w, err) {
		return
	}
	want := 0
	for i, e := range endings {
		if m.model.finish(w, ended[i], e, now) {
			want++
		}
	}
	if changed != want {
		t.Fatalf("finish changed %d jobs, want %d", changed, want)
	}
}

// Expire moves the end of a lease into the past, or to a few ms from now.
func (m *machine) Expire(t *rapid.T) {
	w := m.worker(t)
	if !w.row {
		return
	}
	end := m.old()
	if rapid.IntRange(0, 3).Draw(t, "soon") == 0 {
		end = m.redisMillis(t) + 30
	}
	m.redis(t, m.db.ZAddXX(ctx, m.base+"leases", redis.Z{Score: end, Member: w.name}))
}

// Tamper deletes the lease of a worker that has jobs.
func (m *machine) Tamper(t *rapid.T) {
	w := m.busy(t)
	if !w.row || len(m.model.held(w)) == 0 || rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		t.Skip("it has no jobs")
	}
	m.redis(t, m.db.ZRem(ctx, m.base+"leases", w.name))
	m.redis(t, m.db.ZRem(ctx, m.base+"lengths", w.name))
	w.row = false
}

func (m *machine) Close(t *rapid.T) {
	w := m.worker(t)
	if rapid.IntRange(0, 5).Draw(t, "really") > 0 {
		t.Skip("not yet")
	}
	held, err := m.leases[w].Close(ctx)
	if want := w.row && len(m.model.held(w)) > 0; err != nil || held != want {
		t.Fatalf("closing a lease returned %t, %v, want %t", held, err, want)
	}
	m.model.close(w)
	m.orderTombs(t)
}

// orderTombs makes the times of deaths distinct.
func (m *machine) orderTombs(t *rapid.T) {
	for _, w := range m.model.tombs {
		m.redis(t, m.db.ZAddXX(ctx, m.base+"tombs", redis.Z{Score: m.old(), Member: w.name}))
	}
}

func (m *machine) MarkSolo(t *rapid.T) {
	w := m.busy(t)
	var job *queue.Job
	spot := ""
	if held := m.model.held(w); len(held) > 0 && rapid.IntRange(0, 3).Draw(t, "solo") > 0 {
		j := pick(t, "job", held)
		i := slices.IndexFunc(w.given, func(h handed) bool { return h.job == j && h.spot == j.spot() })
		job, spot = w.given[i].got, j.spot()
	}
	if err := m.leases[w].MarkSolo(ctx, job); !m.lost(t, w, err) {
		w.solo = spot
	}
}

func (m *machine) MarkShared(t *rapid.T) {
	w := m.busy(t)
	shared := rapid.Bool().Draw(t, "shared")
	if err := m.leases[w].MarkShared(ctx, shared); !m.lost(t, w, err) {
		w.solo = map[bool]string{true: "shared"}[shared]
	}
}

func (m *machine) Recover(t *rapid.T) {
	crashes := rapid.IntRange(0, 3).Draw(t, "crashes")
	fullScan := rapid.Bool().Draw(t, "fullScan")
	before := m.redisMillis(t)
	var names []string
	for _, w := range m.model.workers {
		names = append(names, w.name)
	}
	got, err := m.queue.Recover(ctx, crashes, fullScan, names...)
	at := m.redisMillis(t)
	if m.model.longest() > 0 {
		at = m.recoveredAt(t, before, at)
		m.renewed(t, at)
	}
	expired := slices.DeleteFunc(slices.Clone(m.model.workers), func(w *modelWorker) bool {
		return !w.row || !m.model.buried(m.seen.leases[w.name], at)
	})
	left := m.db.ZRange(ctx, m.base+"leases", 0, -1)
	m.redis(t, left)
	for _, w := range m.model.workers {
		if w.row && slices.Contains(expired, w) == slices.Contains(left.Val(), w.name) {
			t.Fatalf("at %.0f of the leases %v are left %q; %+v", at, m.seen.leases, left.Val(), m.model.amnesty)
		}
	}
	if crashes == 0 {
		crashes = queue.DefaultCrashes
	}
	want := m.model.recover(crashes, fullScan, expired)
	want.Spares = m.model.longest() > 0 && m.model.amnesty.lasts(at)
	for _, w := range m.model.workers {
		if w.row || w.tomb {
			want.Known = append(want.Known, w.name)
		}
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("recovered %+v, %v, want %+v", got, err, want)
	}
	m.orderTombs(t)
}

// recoveredAt returns when the queue was recovered between two times, by the clock of Redis.
func (m *machine) recoveredAt(t *rapid.T, before, after float64) float64 {
	at, err := m.db.HGet(ctx, m.base+"meta", "renewed").Float64()
	if err != nil || at < before || at > after {
		t.Fatalf("between %.0f and %.0f a worker has recovered jobs, and the last one acted at %.0f, %v", before, after, at, err)
	}
	return at
}

// Die makes a worker fetch jobs, run one of them solo or share its process with other groups, and
// die, sometimes with all other workers.
func (m *machine) Die(t *rapid.T) {
	m.only = m.worker(t)
	defer func() { m.only = nil }()
	mark := m.MarkSolo
	if rapid.Bool().Draw(t, "share") {
		mark = m.MarkShared
	}
	steps := []func(*rapid.T){m.Fetch, mark, m.Expire}
	if rapid.Bool().Draw(t, "all") {
		for _, w := range m.model.workers {
			steps = append(steps, func(t *rapid.T) { m.only = w; m.Expire(t) })
		}
	}
	for _, step := range append(steps, m.Recover) {
		step(t)
		m.Check(t)
	}
}
