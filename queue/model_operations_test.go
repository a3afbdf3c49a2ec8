package queue_test

import (
	"context"
	"errors"
	"slices"
	"time"

	"pgregory.net/rapid"

	"skidway/queue"
)

// refused checks the error of an operation on a job in a state that the operation
// doesn't allow.
func (m *machine) refused(t *rapid.T, what string, j *modelJob, err error, states ...queue.State) bool {
	want := error(nil)
	switch {
	case j.place == gone:
		want = queue.ErrNoJob
	case !slices.Contains(states, j.state()):
		want = queue.ErrState
	}
	if !errors.Is(err, want) {
		t.Fatalf("%s job %s that is %q: %v, want %v", what, j.id, j.state(), err, want)
	}
	return want != nil
}

// anyJob draws a job, mostly an existing one.
func (m *machine) anyJob(t *rapid.T) *modelJob {
	known := slices.DeleteFunc(slices.Clone(m.model.jobs), func(j *modelJob) bool { return j.garbage || j.aged })
	there := slices.DeleteFunc(slices.Clone(known), func(j *modelJob) bool { return j.place == gone })
	if len(there) > 0 && rapid.IntRange(0, 9).Draw(t, "gone") > 0 {
		state := pick(t, "of state", there).state() // so that rare states are not rarely drawn
		return pick(t, "job", slices.DeleteFunc(there, func(j *modelJob) bool { return j.state() != state }))
	}
	return pick(t, "job", known)
}

func (m *machine) Delete(t *rapid.T) {
	j := m.anyJob(t)
	err := m.client.Delete(ctx, m.global(j.id))
	if !m.refused(t, "delete", j, err, queue.Waiting, queue.Delayed, queue.Dead, queue.Finished) {
		m.model.remove(j)
	}
}

func (m *machine) Cancel(t *rapid.T) {
	j := m.anyJob(t)
	was, err := m.client.Cancel(ctx, m.global(j.id))
	if was != j.state() {
		t.Fatalf("cancel says that %s was %q, not %q", j.id, was, j.state())
	}
	if !m.refused(t, "cancel", j, err, queue.Waiting, queue.Delayed, queue.Active) {
		m.model.cancel(j)
	}
}

func (m *machine) Retry(t *rapid.T) {
	j := m.anyJob(t)
	err := m.client.Retry(ctx, m.global(j.id))
	var held *queue.DuplicateError
	if owner := m.model.owner(j.options); j.place == inDead && !j.foreign && owner != "" && owner != j.id && j.options.Unique.Scope != queue.ForDuration {
		if !errors.As(err, &held) || held.Owner != m.global(owner) {
			t.Fatalf("retry %s whose key is held by %s: %v", j.id, owner, err)
		}
		return
	}
	if !m.refused(t, "retry", j, err, queue.Delayed, queue.Dead) {
		m.model.revive(j)
	}
}

func (m *machine) Reschedule(t *rapid.T) {
	j := m.anyJob(t)
	at := time.UnixMilli(nowMillis() + int64(rapid.IntRange(-3, 9).Draw(t, "days"))*86400000)
	err := m.client.Reschedule(ctx, m.global(j.id), at)
	if !m.refused(t, "reschedule", j, err, queue.Delayed) {
		m.model.delay(j, at.UnixMilli())
	}
}

func (m *machine) Pause(t *rapid.T) {
	do := m.queue.Resume
	if m.model.paused = rapid.IntRange(0, 5).Draw(t, "paused") == 0; m.model.paused {
		do = func(ctx context.Context) error { return m.queue.Pause(ctx, "", "") }
	}
	if err := do(ctx); err != nil {
		t.Fatal(err)
	}
}

// Bulk changes all jobs of a state.
func (m *machine) Bulk(t *rapid.T) {
	operations := map[string]struct {
		call   func(state queue.State) (int, error)
		model  func(*modelJob)
		states []queue.State
	}{
		"delete": {
			func(s queue.State) (int, error) { return changeAll(ctx, m.db, m.queue.Queue, "delete", s) }, m.model.remove,
			[]queue.State{queue.Delayed, queue.Dead, queue.Finished},
		},
		"cancel": {
			func(s queue.State) (int, error) { return changeAll(ctx, m.db, m.queue.Queue, "cancel", s) }, m.model.cancel,
			[]queue.State{queue.Delayed, queue.Active},
		},
		"retry": {
			func(s queue.State) (int, error) { return changeAll(ctx, m.db, m.queue.Queue, "retry", s) }, m.model.revive,
			[]queue.State{queue.Delayed},
		},
		"purge": {
			func(queue.State) (int, error) { return changeAll(ctx, m.db, m.queue.Queue, "delete", queue.Waiting) }, m.model.remove,
			[]queue.State{queue.Waiting},
		},
	}
	if rapid.IntRange(0, 2).Draw(t, "really") > 0 {
		t.Skip("not yet")
	}
	name := rapid.SampledFrom([]string{"delete", "cancel", "retry", "purge"}).Draw(t, "operation")
	operation := operations[name]
	state := rapid.SampledFrom(operation.states).Draw(t, "state")
	var jobs []*modelJob
	for _, j := range append(m.model.waiting(), append(m.model.at(inDelayed), m.model.jobs...)...) { // in their order
		if j.aged && j.place == inResults && state == queue.Finished {
			t.Skip("some are there that are not shown any more")
		}
		if j.state() == state && !slices.Contains(jobs, j) {
			jobs = append(jobs, j)
		}
	}
	n, err := operation.call(state)
	if err != nil || n != len(jobs) {
		t.Fatalf("%s all %s: %d, %v, want %d", name, state, n, err, len(jobs))
	}
	for _, j := range jobs {
		operation.model(j)
	}
}

// Look compares depth, counters and workers with the model.
func (m *machine) Look(t *rapid.T) {
	depth, err := m.queue.Depth(ctx)
	if err != nil {
		t.Fatal(err)
	}
	states := map[queue.State]int{}
	for _, j := range m.model.jobs {
		if !j.aged || j.place != inResults { // not yet dropped, but no longer shown
			states[j.state()]++
		}
	}
	got := map[queue.State]int{
		queue.Waiting: depth.Waiting, queue.Active: depth.Active, queue.Delayed: depth.Delayed,
		queue.Dead: depth.Dead, queue.Finished: depth.Finished,
	}
	for state, n := range got {
		if n != states[state] {
			t.Fatalf("%s: %d jobs, want %d of %v", state, n, states[state], states)
		}
	}
	if depth.Paused != m.model.paused {
		t.Fatalf("paused: %t", depth.Paused)
	}
	j := m.anyJob(t)
	job, err := m.client.Get(ctx, m.global(j.id))
	if j.place == gone {
		if !errors.Is(err, queue.ErrNoJob) {
			t.Fatalf("get %s: %v", j.id, err)
		}
		return
	}
	if err != nil || job.ID != m.global(j.id) || job.State != j.state() || job.Worker != j.worker || job.Attempts != j.attempts ||
		string(job.Args) != j.args || job.Reason != j.reason || string(job.Result) != j.result {
		t.Fatalf("got %+v, %v, want %+v", job, err, j)
	}
}

// List reads the waiting jobs, in pages.
func (m *machine) List(t *rapid.T) {
	options := queue.ListOptions{Limit: rapid.IntRange(1, 30).Draw(t, "limit")}
	var got, want []string
	for {
		page, err := m.queue.List(ctx, queue.Waiting, &options)
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range page.Jobs {
			got = append(got, job.ID)
		}
		if options.Cursor = page.Next; page.Next == "" {
			break
		}
	}
	for _, j := range m.model.waiting() {
		want = append(want, m.global(j.id))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("waiting are %q, want %q", got, want)
	}
}
