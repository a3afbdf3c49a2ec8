package queue_test

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"skidway/queue"
)

func (m *machine) Open(t *rapid.T) {
	living := 0
	for _, w := range m.model.workers {
		if w.row || !w.opened {
			living++
		}
	}
	if living >= 4 {
		t.Skip("enough workers")
	}
	w := &modelWorker{name: fmt.Sprintf("w%03d", len(m.model.workers))}
	if len(m.model.workers) == 0 {
		m.leases = map[*modelWorker]*queue.Lease{}
	}
	w.length = rapid.SampledFrom([]time.Duration{300 * time.Millisecond, 500 * time.Millisecond, time.Hour}).Draw(t, "lease")
	lease, err := m.queue.NewLease(w.name, w.length)
	if err != nil {
		t.Fatal(err)
	}
	m.leases[w] = lease
	m.model.workers = append(m.model.workers, w)
}

// worker draws a worker, mostly a living one.
func (m *machine) worker(t *rapid.T) *modelWorker {
	if m.only != nil {
		return m.only
	}
	living := slices.DeleteFunc(slices.Clone(m.model.workers), func(w *modelWorker) bool { return !w.row && w.opened })
	if len(living) > 0 && rapid.IntRange(0, 4).Draw(t, "any") > 0 {
		return pick(t, "worker", living)
	}
	return pick(t, "worker", m.model.workers)
}

// busy draws a worker, mostly one that has jobs.
func (m *machine) busy(t *rapid.T) *modelWorker {
	busy := slices.DeleteFunc(slices.Clone(m.model.workers), func(w *modelWorker) bool { return len(m.model.held(w)) == 0 })
	if m.only == nil && len(busy) > 0 && rapid.IntRange(0, 4).Draw(t, "idle") > 0 {
		return pick(t, "busy worker", busy)
	}
	return m.worker(t)
}

// lost checks that calls of a worker without a lease are refused.
func (m *machine) lost(t *rapid.T, w *modelWorker, err error) bool {
	if w.row && err != nil || !w.row && !errors.Is(err, queue.ErrLeaseLost) {
		t.Fatalf("worker %+v got %v", w, err)
	}
	return !w.row
}

func (m *machine) Beat(t *rapid.T) {
	w := m.worker(t)
	before := m.redisMillis(t)
	again, err := m.leases[w].Renew(ctx)
	if m.lost(t, w, err) {
		return
	}
	now := m.leaseEnds(t, w, before)
	m.renewed(t, now)
	dead := len(m.model.tombs) > 0 || slices.ContainsFunc(m.model.workers, func(other *modelWorker) bool {
		return other != w && other.row && m.model.buried(m.seen.leases[other.name], now)
	})
	if again != dead {
		t.Fatalf("something to recover: %t, want %t, with %d tombstones", again, dead, len(m.model.tombs))
	}
}

// redisMillis returns the time of Redis in ms.
func (m *machine) redisMillis(t *rapid.T) float64 {
	now, err := m.db.Time(ctx).Result()
	if err != nil {
		t.Fatal(err)
	}
	return float64(now.UnixMilli())
}

// leaseEnds checks the end of a lease that was opened or renewed after some time, and
// returns when that was, by the clock of Redis.
func (m *machine) leaseEnds(t *rapid.T, w *modelWorker, since float64) (now float64) {
	end := m.db.ZScore(ctx, m.base+"leases", w.name)
	m.redis(t, end)
	now = end.Val() - float64(w.length.Milliseconds())
	if after := m.redisMillis(t); now < since || now > after {
		t.Fatalf("a lease of %s that was given between %.0f and %.0f ends at %.0f", w.length, since, after, end.Val())
	}
	return now
}

func (m *machine) Fetch(t *rapid.T) {
	w := m.worker(t)
	maxJobs := rapid.SampledFrom([]int{1, 2, 3, 5, 10, 40, 1000}).Draw(t, "maxJobs")
	budget := rapid.SampledFrom([]int{1, 30, 2000, 1 << 20, 1 << 20}).Draw(t, "bytes")
	var retries *queue.RetryLimits
	if rapid.Bool().Draw(t, "limited") {
		beside := rapid.IntRange(0, 2).Draw(t, "beside others")
		retries = &queue.RetryLimits{BesideOthers: beside, Max: beside + rapid.IntRange(0, 2).Draw(t, "more"), First: rapid.Bool().Draw(t, "first")}
	}
	quarantined := rapid.SampledFrom([]int{0, 1, 2, 500}).Draw(t, "quarantined")
	m.fetch(t, w, queue.FetchLimits{Jobs: maxJobs, Bytes: budget, Retries: retries, Quarantined: quarantined})
}

func (m *machine) fetch(t *rapid.T, w *modelWorker, limits queue.FetchLimits) {
	before := m.redisMillis(t)
	fetched, err := m.leases[w].Fetch(ctx, limits)
	if !w.opened && err != nil {
		t.Fatal(err)
	}
	if w.opened && m.lost(t, w, err) {
		return
	}
	if fetched.Paused != m.model.paused {
		t.Fatalf("paused: %t, want %t", fetched.Paused, m.model.paused)
	}
	if fetched.Paused {
		return
	}
	maxJobs, budget := min(limits.Jobs, 500), limits.Bytes
	waiting := m.model.deliverable(w, limits)
	took := len(fetched.Jobs) + fetched.Malformed
	if took > min(maxJobs, len(waiting)) {
		t.Fatalf("got %d jobs, asked for %d of %d", took, maxJobs, len(waiting))
	}
	sizes := 0
	for _, j := range waiting[:took] {
		sizes += m.size(j)
	}
	if took < min(maxJobs, len(waiting)) && sizes < budget {
		t.Fatalf("got %d jobs of %d bytes, asked for %d of %d with %d bytes", took, sizes, maxJobs, len(waiting), budget)
	}
	if !w.opened && took > 0 {
		m.renewed(t, m.leaseEnds(t, w, before))
		w.opened, w.row = true, true
	}
	if took == 0 {
		m.nothingAfter(t, fetched.Cursors, limits.Retries == nil || limits.Retries.Max > 0)
	}
	garbage := m.model.fetch(w, waiting[:took])
	m.given(t, w, fetched, slices.DeleteFunc(waiting[:took], func(j *modelJob) bool { return j.garbage }), garbage)
}

// size returns the bytes that Fetch counts for a job: its args, or its fields.
func (m *machine) size(j *modelJob) (size int) {
	for _, entry := range m.seen.lines[j.line] {
		if entry.ID != j.entry {
			continue
		}
		if len(entry.Values) == 2 && entry.Values["kind"] != nil && entry.Values["args"] != nil {
			return len(j.args)
		}
		for name, value := range entry.Values {
			size += len(name) + len(value.(string))
		}
	}
	return size
}

// nothingAfter checks that a wait at the cursors misses no job and doesn't end without
// one.
func (m *machine) nothingAfter(t *rapid.T, cursors []queue.StreamCursor, retries bool) {
	var want []string
	for line := 1; line < len(lineNames); line++ {
		if retries || !isRetry(line) {
			want = append(want, m.base+lineNames[line])
		}
	}
	if len(cursors) != len(want) {
		t.Fatalf("got %d cursors, want those of %q", len(cursors), want)
	}
	for i, cursor := range cursors {
		if cursor.Key != want[i] {
			t.Fatalf("cursor %d is of %s", i, cursor.Key)
		}
		after, err := m.db.XRange(ctx, cursor.Key, "("+cursor.ID, "+").Result()
		if err != nil || len(after) > 0 {
			t.Fatalf("cursor %+v: %v after it, %v", cursor, after, err)
		}
	}
}

// given compares the jobs that a worker fetched with those of the model.
func (m *machine) given(t *rapid.T, w *modelWorker, fetched queue.FetchResult, want []*modelJob, garbage int) {
	if len(fetched.Jobs) != len(want) || fetched.Malformed != garbage {
		t.Fatalf("got %d jobs and %d malformed ones, want %d and %d", len(fetched.Jobs), fetched.Malformed, len(want), garbage)
	}
	for i, got := range fetched.Jobs {
		j := want[i]
		if got.ID != m.global(j.id) {
			t.Fatalf("job %d is %s, want %s", i, got.ID, j.id)
		}
		o := j.options
		if got.Kind != j.kind || string(got.Args) != j.args || got.Priority != o.Priority || got.Unique != o.Unique ||
			got.MaxAttempts != o.MaxAttempts || got.Timeout != o.Timeout || got.Retain != o.Retain || len(got.Headers) != len(o.Headers) ||
			got.Attempts != j.attempts || got.Quarantines != j.suspect || got.Crashes != j.crashes || len(got.Errors) != len(j.errors) ||
			got.IsRetry() != isRetry(j.line) || got.State != queue.Active || got.Worker != w.name || fmt.Sprint(got.Enqueued.UnixMilli()) != j.enqueued {
			t.Fatalf("got %+v, want %+v", got, j)
		}
		if quarantined := isQuarantine(j.line); quarantined != (got.Group != "") || quarantined && (got.Group != j.group || got.GroupSize != j.groupSize) {
			t.Fatalf("got %+v of group %q, want %+v", got, got.Group, j)
		}
		for e, failure := range got.Errors {
			if failure.Error != j.errors[e] {
				t.Fatalf("got errors %+v, want %q", got.Errors, j.errors)
			}
		}
		w.given = append(w.given, handed{got, j, j.spot()})
	}
}

func (m *machine) Reread(t *rapid.T) {
	w := m.busy(t)
	all, err := m.leases[w].Reread(ctx, restarts(m.leases[w]), nil, rapid.IntRange(1, 100).Draw(t, "bytes"))
	for next := all; err == nil && next.More; {
		next, err = m.leases[w].Reread(ctx, restarts(m.leases[w]), all.Jobs, 1<<20)
		all.Jobs, all.Malformed = append(all.Jobs, next.Jobs...), all.Malformed+next.Malformed
	}
	if !m.lost(t, w, err) {
		m.given(t, w, all, m.model.held(w), 0)
	}
}
