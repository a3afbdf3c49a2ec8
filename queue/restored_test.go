package queue_test

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"skidway/internal/redistest"
	"skidway/queue"
)

// restarts returns the number of restarts that a lease has seen.
func restarts(l *queue.Lease) int64 {
	n, _ := l.ServerChanged()
	return n
}

// A Redis that lost writes may have given an entry to another worker. The outcomes of the first
// one are refused until it has compared its jobs, and what was lost is named.
func TestOutcomesAreRefusedAfterARestartUntilJobsAreCompared(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	d := setup(t, redistest.Open(t, server.URL(0)))
	d.add("kept", queue.Options{})
	d.add("lost", queue.Options{})
	l := d.lease("w")
	kept := d.fetch(l, 1)[0]
	d.must(d.db.Save(t.Context()).Err())
	lost := d.fetch(l, 1)[0]
	before := restarts(l)
	server.Kill()
	d.must(server.Restart())

	d.must(d.db.Retry(t.Context(), func() error { return d.db.Ping(t.Context()).Err() })) // notices the restart
	other := d.lease("other")
	d.fetch(other, 1)
	now, changed := l.ServerChanged()
	if _, others := other.ServerChanged(); !changed || others {
		t.Errorf("changed: %t for the first lease, %t for one that was created later", changed, others)
	}
	ends := []queue.Completion{{Job: kept}, {Job: lost}}
	if n, err := l.Finish(t.Context(), ends); n != 0 || !errors.Is(err, queue.ErrServerChanged) {
		t.Errorf("finished %d jobs: %v", n, err)
	}
	if _, err := l.Fetch(t.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1}); !errors.Is(err, queue.ErrServerChanged) {
		t.Errorf("fetch: %v", err)
	}
	if depth, err := d.queue.Depth(t.Context()); err != nil || depth.Active != 2 {
		t.Fatalf("%+v, %v: the jobs of both workers are to be active", depth, err)
	}
	// It restarts between the look and the comparison.
	if again, err := l.Reread(t.Context(), before, []*queue.Job{kept, lost}, 1<<20); !errors.Is(err, queue.ErrServerChanged) || len(again.Lost) != 0 {
		t.Errorf("%+v, %v: want an error, because another server was expected", again, err)
	}
	again, err := l.Reread(t.Context(), now, []*queue.Job{kept, lost}, 1<<20)
	if err != nil || len(again.Jobs) != 0 || len(again.Lost) != 1 || again.Lost[0] != lost {
		t.Fatalf("%+v, %v: want the one job as lost", again, err)
	}
	if again, err := l.Reread(t.Context(), now, []*queue.Job{kept, lost}, 1<<20); err != nil || len(again.Lost) != 0 {
		t.Errorf("without another change: %+v, %v", again, err)
	}
	d.end(l, queue.AttemptSucceeded, kept)
	if depth, err := d.queue.Depth(t.Context()); err != nil || depth.Active != 1 {
		t.Errorf("%+v, %v: the job of the other worker is to be active", depth, err)
	}
}

// A savedState is a queue in Redis and its model at some time.
type savedState struct {
	dumps   map[string]string
	model   model
	jobs    map[*modelJob]modelJob
	workers map[*modelWorker]modelWorker
}

// ComeBackOlder takes Redis back to an older state, as a failover or a crash does that loses
// writes. Then each worker that has a lease compares its jobs.
func (m *machine) ComeBackOlder(t *rapid.T) {
	if m.db.Embedded() {
		t.Skip("it cannot dump streams")
	}
	m.Fetch(t)
	m.Check(t)
	saved := m.save(t)
	steps := []func(*rapid.T){m.Fetch, m.FinishAll, m.Enqueue, m.Recover}
	for range rapid.IntRange(1, 5).Draw(t, "lost steps") {
		rapid.SampledFrom(steps).Draw(t, "step")(t)
		m.Check(t)
	}
	m.restore(t, saved)
}

// save returns the present state.
func (m *machine) save(t *rapid.T) *savedState {
	node, keys, err := keysOf(m.db, m.base)
	if err != nil {
		t.Fatal(err)
	}
	c := *m.model
	for i := range c.lines {
		c.lines[i] = slices.Clone(c.lines[i])
	}
	c.tombs, c.events, c.done = slices.Clone(c.tombs), slices.Clone(c.events), slices.Clone(c.done)
	c.counts, c.waited, c.unique = maps.Clone(c.counts), maps.Clone(c.waited), map[string]*heldKey{}
	for key, held := range m.model.unique {
		copied := *held
		c.unique[key] = &copied
	}
	saved := &savedState{dumps: map[string]string{}, model: c, jobs: map[*modelJob]modelJob{}, workers: map[*modelWorker]modelWorker{}}
	for _, j := range c.jobs {
		saved.jobs[j] = *j
	}
	for _, w := range c.workers {
		was := *w
		was.cohort, was.taken = maps.Clone(w.cohort), maps.Clone(w.taken)
		saved.workers[w] = was
	}
	for _, key := range keys {
		dump := node.Dump(ctx, key)
		m.redis(t, dump)
		saved.dumps[key] = dump.Val()
	}
	return saved
}

// restore takes Redis and the model back to a state, and lets the workers compare their jobs.
func (m *machine) restore(t *rapid.T, saved *savedState) {
	believed := map[*modelWorker][]handed{} // the jobs that workers have
	for _, w := range m.model.workers {
		for _, j := range m.model.held(w) {
			i := slices.IndexFunc(w.given, func(h handed) bool { return h.job == j && h.spot == j.spot() })
			believed[w] = append(believed[w], w.given[i])
		}
	}
	for began := m.redisMillis(t); m.redisMillis(t) <= began+1; { // no restart is quicker
	}
	node, keys, err := keysOf(m.db, m.base)
	if err != nil {
		t.Fatal(err)
	}
	if len(keys) > 0 {
		m.redis(t, node.Del(ctx, keys...))
	}
	for key, dump := range saved.dumps {
		m.redis(t, node.Restore(ctx, key, 0, dump))
	}
	m.restoreModel(saved)
	m.Check(t)
	for _, w := range m.model.workers {
		if w.row {
			m.reconcile(t, w, believed[w])
		}
	}
}

// restoreModel takes the model back. Jobs that were added later are gone, and so are the leases
// that were opened later.
func (m *machine) restoreModel(saved *savedState) {
	jobs, workers := m.model.jobs, m.model.workers
	*m.model = saved.model
	m.model.jobs, m.model.workers = jobs, workers
	for _, j := range jobs {
		was, known := saved.jobs[j]
		if !known {
			was = modelJob{id: j.id, kind: j.kind, options: j.options, place: gone}
		}
		*j = was
	}
	for _, w := range workers {
		opened, given := w.opened, w.given
		was, known := saved.workers[w]
		if !known {
			was = modelWorker{name: w.name, length: w.length}
		}
		was.opened, was.given = opened || was.opened, given
		*w = was
	}
}

// reconcile lets a worker compare the jobs that it has with those that Redis holds for it. Until
// then it is refused. Afterwards it has just the latter, so that none stays active for ever.
func (m *machine) reconcile(t *rapid.T, w *modelWorker, believed []handed) {
	lease, held := m.leases[w], m.model.held(w)
	lease.NoticeRestart()
	var ends []queue.Completion
	var jobs, wantLost []*queue.Job
	unknown := slices.Clone(held)
	w.given = nil
	for _, h := range believed {
		ends, jobs = append(ends, queue.Completion{Job: h.got}), append(jobs, h.got)
		if i := slices.IndexFunc(unknown, func(j *modelJob) bool { return j.spot() == h.spot }); i >= 0 {
			w.given, unknown = append(w.given, h), slices.Delete(unknown, i, i+1)
		} else {
			wantLost = append(wantLost, h.got)
		}
	}
	if _, err := lease.Fetch(ctx, queue.FetchLimits{Jobs: 1, Bytes: 1}); !errors.Is(err, queue.ErrServerChanged) {
		t.Fatalf("fetch before the comparison: %v", err)
	}
	if n, err := lease.Finish(ctx, ends); n != 0 || len(ends) > 0 && !errors.Is(err, queue.ErrServerChanged) {
		t.Fatalf("%d jobs are finished before the comparison: %v", n, err)
	}
	now, _ := lease.ServerChanged()
	budget := rapid.SampledFrom([]int{1, 100, 1 << 20}).Draw(t, "bytes")
	all, err := lease.Reread(ctx, now, jobs, budget)
	for next := all; err == nil && next.More; {
		next, err = lease.Reread(ctx, now, append(slices.Clone(jobs), all.Jobs...), budget)
		all.Jobs, all.Lost = append(all.Jobs, next.Jobs...), append(all.Lost, next.Lost...)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, job := range all.Lost {
		if !slices.Contains(wantLost, job) {
			t.Fatalf("job %s of %s is said to be lost", job.ID, w.name)
		}
	}
	if len(all.Lost) != len(wantLost) {
		t.Fatalf("%d jobs are lost, want %d", len(all.Lost), len(wantLost))
	}
	m.given(t, w, all, unknown, 0)
}
