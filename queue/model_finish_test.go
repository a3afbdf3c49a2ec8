package queue_test

import (
	"fmt"
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
	var endings []queue.Ending
	var ended []handed
	for range rapid.IntRange(1, 5).Draw(t, "endings") {
		h := pick(t, "job", recent)
		same := func(other handed) bool { return other.job == h.job && other.spot == h.spot }
		if i := slices.IndexFunc(ended, same); i >= 0 { // said twice, but not two things
			endings, ended = append(endings, endings[i]), append(ended, h)
			continue
		}
		e := queue.Ending{Job: h.got, As: queue.As(rapid.IntRange(0, int(queue.AsReturned)).Draw(t, "as"))}
		switch e.As {
		case queue.AsSucceeded:
			e.Result = []byte(rapid.SampledFrom([]string{"", "result"}).Draw(t, "result"))
		case queue.AsRetry, queue.AsSnoozed:
			e.Wait = time.Duration(rapid.IntRange(0, 2).Draw(t, "wait")) * time.Minute
			e.Reason = fmt.Sprint("failure ", m.scores)
		case queue.AsDiscarded, queue.AsDead:
			e.Reason = "because"
		}
		endings, ended = append(endings, e), append(ended, h)
	}
	m.finish(t, w, endings, ended)
}

// Work is what a worker does mostly.
func (m *machine) Work(t *rapid.T) {
	m.only = m.worker(t)
	defer func() { m.only = nil }()
	m.Fetch(t)
	m.Check(t)
	m.Finish(t)
}

// FinishAll ends all that a worker has, as pools do.
func (m *machine) FinishAll(t *rapid.T) {
	w := m.busy(t)
	as := queue.As(rapid.IntRange(0, int(queue.AsReturned)).Draw(t, "as"))
	var endings []queue.Ending
	var ended []handed
	for _, h := range w.given {
		if h.job.worker == w.name && h.job.spot() == h.spot && !slices.ContainsFunc(ended, func(other handed) bool { return other.job == h.job }) {
			endings, ended = append(endings, queue.Ending{Job: h.got, As: as}), append(ended, h)
		}
	}
	if len(endings) > 0 {
		m.finish(t, w, endings, ended)
	}
}

func (m *machine) finish(t *rapid.T, w *modelWorker, endings []queue.Ending, ended []handed) {
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

// Expire makes a worker look silent for too long.
func (m *machine) Expire(t *rapid.T) {
	w := m.worker(t)
	if w.row {
		m.redis(t, m.db.ZAddXX(ctx, m.base+"leases", redis.Z{Score: m.old(), Member: w.name}))
		w.late = true
	}
}

// Tamper makes away with the row of a worker that has jobs.
func (m *machine) Tamper(t *rapid.T) {
	w := m.busy(t)
	if !w.row || len(m.model.held(w)) == 0 || rapid.IntRange(0, 3).Draw(t, "really") > 0 {
		t.Skip("it has no jobs")
	}
	m.redis(t, m.db.ZRem(ctx, m.base+"leases", w.name))
	w.row, w.late = false, false
}

func (m *machine) Close(t *rapid.T) {
	w := m.worker(t)
	if rapid.IntRange(0, 5).Draw(t, "really") > 0 {
		t.Skip("not yet")
	}
	if err := m.leases[w].Close(ctx); err != nil {
		t.Fatal(err)
	}
	m.model.close(w)
	m.orderTombs(t)
}

// orderTombs makes the times of deaths different.
func (m *machine) orderTombs(t *rapid.T) {
	for _, w := range m.model.tombs {
		m.redis(t, m.db.ZAddXX(ctx, m.base+"tombs", redis.Z{Score: m.old(), Member: w.name}))
	}
}

func (m *machine) Alone(t *rapid.T) {
	w := m.busy(t)
	var job *queue.Job
	spot := ""
	if held := m.model.held(w); len(held) > 0 && rapid.IntRange(0, 3).Draw(t, "alone") > 0 {
		j := pick(t, "job", held)
		i := slices.IndexFunc(w.given, func(h handed) bool { return h.job == j && h.spot == j.spot() })
		job, spot = w.given[i].got, j.spot()
	}
	if err := m.leases[w].Alone(ctx, job); !m.lost(t, w, err) {
		w.alone = spot
	}
}

func (m *machine) Recover(t *rapid.T) {
	crashes := rapid.IntRange(0, 3).Draw(t, "crashes")
	sweep := rapid.Bool().Draw(t, "sweep")
	got, err := m.queue.Recover(ctx, crashes, sweep)
	if crashes == 0 {
		crashes = queue.DefaultCrashes
	}
	if want := m.model.recover(crashes, sweep); err != nil || got != want {
		t.Fatalf("recovered %+v, %v, want %+v", got, err, want)
	}
	m.orderTombs(t)
}

// Die lets a worker take jobs, run one of them alone and die; perhaps all others
// die with it.
func (m *machine) Die(t *rapid.T) {
	m.only = m.worker(t)
	defer func() { m.only = nil }()
	steps := []func(*rapid.T){m.Fetch, m.Alone, m.Expire}
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
