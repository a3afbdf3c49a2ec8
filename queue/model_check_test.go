package queue_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"skidway/queue"
)

// Check compares the contents of Redis with the model, after every step.
func (m *machine) Check(t *rapid.T) {
	s := look(t, m.db, m.base)
	m.seen, m.slack = s, time.Since(m.checked.Add(-time.Second))
	defer func() { m.checked = time.Now() }()
	m.checkBooks(t, s)
	m.checkLines(t, s)
	m.checkDelayed(t, s)
	m.checkArchive(t, s, inDead, s.dead, s.deadJobs, "dead_bytes")
	m.checkArchive(t, s, inResults, s.results, s.resultsJobs, "result_bytes")
	m.checkUnique(t, s)
	m.checkWorkers(t, s)
	m.checkBeside(t, s)
	m.checkStreams(t, s)
}

// checkBooks needs no model: every accepted job is in a state or has ended.
func (m *machine) checkBooks(t *rapid.T, s *snapshot) {
	foreign := 0
	for _, j := range m.model.jobs {
		if j.foreign {
			foreign++
		}
	}
	accepted := s.total("enqueued")
	if m.db.Embedded() {
		accepted += foreign
		foreign = 0 // it does not count them
	}
	if accounted := s.accounted() - s.total("revived") + m.model.deleted; accounted != accepted {
		t.Fatalf("%d jobs were accepted, %d are accounted for: %v", accepted, accounted, s.counts)
	}
	days := map[string]int{}
	for field, value := range s.counts {
		day, name, _ := strings.Cut(field, ":")
		if n := 0; day != "total" {
			_, _ = fmt.Sscan(value, &n)
			days[name] += n
		}
	}
	for name := range maps.Keys(m.model.counts) {
		want := m.model.counts[name]
		if name == "enqueued" {
			want += foreign
		}
		if s.total(name) != want || days[name] != want {
			t.Fatalf("counter %s is %d, of all days %d, want %d", name, s.total(name), days[name], want)
		}
	}
}

func (m *machine) checkLines(t *rapid.T, s *snapshot) {
	moved := map[string]string{}
	for line := 1; line < len(lineNames); line++ {
		var got, want []string
		for _, entry := range s.lines[line] {
			got = append(got, entryID(line, entry)+" "+s.pending[line][entry.ID])
		}
		for _, j := range m.model.lines[line] {
			want = append(want, j.id+" "+j.worker)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("line %s has %q, want %q", lineNames[line], got, want)
		}
		held := 0
		for i, entry := range s.lines[line] {
			j := m.model.lines[line][i]
			if j.entry != "" && j.entry != entry.ID {
				t.Fatalf("job %s has another entry, %s", j.id, entry.ID)
			}
			j.entry = entry.ID
			if j.worker != "" {
				held++
			}
			if j.id != letterOf(line)+entry.ID || !isFresh(line) {
				moved[j.id] = j.spot()
			}
			fields, err := entryFields(entry)
			if !j.garbage {
				m.checkFields(t, j, fields, err)
			}
		}
		if len(s.pending[line]) != held {
			t.Fatalf("line %s has pending entries that are gone: %v of %q", lineNames[line], s.pending[line], got)
		}
	}
	if !maps.Equal(s.moved, moved) {
		t.Fatalf("moved has %v, want %v", s.moved, moved)
	}
}

// checkFields compares the stored fields of a job with the model's.
func (m *machine) checkFields(t *rapid.T, j *modelJob, fields map[string]string, err error) {
	if err != nil {
		t.Fatalf("job %s: %v", j.id, err)
	}
	number := func(n int64) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n)
	}
	o := j.options
	want := map[string]string{
		"kind": j.kind, "args": j.args, "unique": o.Unique.Key, "retain": number(o.Retain.Milliseconds()),
		"max_attempts": number(int64(o.MaxAttempts)), "timeout": number(o.Timeout.Milliseconds()),
		"attempts": number(int64(j.attempts)), "suspect": number(int64(j.suspect)), "crashes": number(int64(j.crashes)),
		"forgiven": number(int64(j.forgiven)), "outcome": j.outcome, "reason": j.reason, "result": j.result, "scope": "",
	}
	if j.place == inLine && isQuarantine(j.line) {
		want["group"], want["group_size"] = j.group, number(int64(j.groupSize))
	}
	if o.Unique.Key != "" {
		want["scope"] = map[queue.Scope]string{queue.UntilFinished: "finished", queue.WhileWaiting: "waiting", queue.ForDuration: "duration"}[o.Unique.Scope]
	}
	for _, name := range []string{"forgiven", "suspect", "crashes"} { // a job that was revived has zeros
		if fields[name] == "0" {
			delete(fields, name)
		}
	}
	for name, value := range want {
		if fields[name] != value {
			t.Fatalf("field %s of job %s is %q, want %q; %v", name, j.id, fields[name], value, fields)
		}
	}
	var failures []queue.Failure
	if fields["errors"] != "" {
		if err := json.Unmarshal([]byte(fields["errors"]), &failures); err != nil {
			t.Fatal(err)
		}
	}
	var headers map[string]string
	if fields["headers"] != "" {
		if err := json.Unmarshal([]byte(fields["headers"]), &headers); err != nil {
			t.Fatal(err)
		}
	}
	if !maps.Equal(headers, o.Headers) {
		t.Fatalf("job %s has headers %v, want %v", j.id, headers, o.Headers)
	}
	if len(failures) != len(j.errors) {
		t.Fatalf("job %s has errors %v, want %q", j.id, failures, j.errors)
	}
	enqueued := fields["enqueued"]
	if enqueued == "" {
		enqueued = addedAt(t, j.id)
	}
	if j.enqueued == "" {
		j.enqueued = enqueued
	}
	if enqueued != j.enqueued {
		t.Fatalf("job %s was enqueued at %s and now at %s", j.id, j.enqueued, enqueued)
	}
}

// near reports whether two times in ms can be two readings of the clock since the last check.
func (m *machine) near(a float64, b int64) bool {
	return math.Abs(a-float64(b)) <= float64(m.slack.Milliseconds())
}

func (m *machine) checkDelayed(t *rapid.T, s *snapshot) {
	delayed := m.model.at(inDelayed)
	if len(s.delayed) != len(delayed) || len(s.delayedJobs) != len(delayed) {
		t.Fatalf("delayed has %v and %d records, want %d", s.delayed, len(s.delayedJobs), len(delayed))
	}
	for _, j := range delayed {
		score, there := s.delayed[j.id]
		if !there || !m.near(score, j.due) || j.exact && int64(score) != j.due {
			t.Fatalf("job %s is due at %f, want %d", j.id, score, j.due)
		}
		j.due, j.exact = int64(score), true
		fields, err := delayedFields(s.delayedJobs[j.id])
		m.checkFields(t, j, fields, err)
		if marked := fields["retry"] == "1"; err == nil && marked != j.failed {
			t.Fatalf("job %s is marked as a retry: %t, want %t", j.id, marked, j.failed)
		}
		if fields["priority"] != j.letter() {
			t.Fatalf("job %s has priority %s", j.id, fields["priority"])
		}
	}
}

func (m *machine) checkArchive(t *rapid.T, s *snapshot, where place, index map[string]float64, records map[string]string, size string) {
	ended := m.model.at(where)
	if len(index) != len(ended) || len(records) != len(ended) {
		t.Fatalf("archive %d has %v and %d records, want %d", where, index, len(records), len(ended))
	}
	bytes := 0
	for _, j := range ended {
		record := records[j.id]
		bytes += len(record)
		fields, err := recordFields(record)
		if j.garbage {
			if err != nil || fields["kind"] != "" || !strings.HasPrefix(fields["reason"], "malformed: ") {
				t.Fatalf("rubbish is kept as %q: %v", record, err)
			}
			continue
		}
		m.checkFields(t, j, fields, err)
		score, there := index[j.id]
		if !there || where == inResults && !j.aged && !m.near(score, j.due) || fields["ended"] == "" {
			t.Fatalf("job %s is kept until %f, want %d: %v", j.id, score, j.due, fields)
		}
		j.due = int64(score)
	}
	if got := s.meta[size]; got != fmt.Sprint(bytes) && (got != "" || bytes != 0) {
		t.Fatalf("%s is %s, want %d", size, got, bytes)
	}
}

func (m *machine) checkUnique(t *rapid.T, s *snapshot) {
	want, timed := map[string]string{}, 0
	for key, held := range m.model.unique {
		want[key] = held.owner
		if held.expires {
			timed++
			if _, there := s.uniqueExpiry[key]; !there {
				t.Fatalf("unique key %s is held for ever", key)
			}
		}
	}
	if !maps.Equal(s.unique, want) || len(s.uniqueExpiry) != timed {
		t.Fatalf("unique has %v, with a time %v, want %v and %d", s.unique, s.uniqueExpiry, want, timed)
	}
}

func (m *machine) checkWorkers(t *rapid.T, s *snapshot) {
	for _, w := range m.model.workers {
		_, row := s.leases[w.name]
		_, tomb := s.tombs[w.name]
		if _, there := s.cohorts[w.name]; there != w.tomb {
			t.Fatalf("worker %+v: cohort %t", w, there)
		}
		length, stored := s.lengths[w.name]
		if row != w.row || tomb != w.tomb || stored != w.row || stored && length != float64(w.length.Milliseconds()) {
			t.Fatalf("worker %+v: row %t of %.0f ms, tombstone %t", w, row, length, tomb)
		}
		holds := len(m.model.held(w)) > 0
		if s.consumers[w.name] && !row && !tomb && !holds {
			t.Fatalf("the consumer of %+v is left behind", w)
		}
		if solo := s.alone[w.name]; solo != w.solo && (row || tomb || holds || solo != "") {
			t.Fatalf("worker %+v runs %q solo", w, solo)
		}
	}
}

// checkBeside checks that logs, progress and cancellations are deleted with their jobs.
func (m *machine) checkBeside(t *rapid.T, s *snapshot) {
	var noted, cancelled []string
	for _, j := range m.model.jobs {
		if j.noted {
			noted = append(noted, j.id)
		}
		if j.cancelled {
			cancelled = append(cancelled, j.id)
		}
	}
	compare := func(name string, got map[string]string, want []string) {
		slices.Sort(want)
		if ids := slices.Sorted(maps.Keys(got)); !slices.Equal(ids, want) {
			t.Fatalf("%s is of %q, want %q", name, ids, want)
		}
	}
	compare("logs", s.logs, noted)
	compare("progress", s.progress, noted)
	compare("cancelled", s.cancelled, cancelled)
}

func (m *machine) checkStreams(t *rapid.T, s *snapshot) {
	var done, events []string
	for _, entry := range s.done {
		done = append(done, fmt.Sprint(entry.Values["id"]))
	}
	for _, entry := range s.events {
		events = append(events, fmt.Sprint(entry.Values["event"], " ", entry.Values["id"]))
	}
	if want := m.model.done; !slices.Equal(byJob(done), byJob(want)) {
		t.Fatalf("done has %q, want %q", done, want)
	}
	if want := m.model.events; !slices.Equal(byJob(events), byJob(want)) {
		t.Fatalf("events are %q, want %q", events, want)
	}
	if s.signals != m.model.signals {
		t.Fatalf("the mover was woken %d times, want %d", s.signals, m.model.signals)
	}
	for id := range s.waited {
		if !m.model.waited[id] {
			t.Fatalf("a client waits for %s", id)
		}
	}
}

// byJob sorts events by job, keeping the order of each job's events: the jobs of a batch
// have no order.
func byJob(events []string) []string {
	sorted := slices.Clone(events)
	slices.SortStableFunc(sorted, func(a, b string) int {
		return strings.Compare(a[strings.LastIndexByte(a, ' ')+1:], b[strings.LastIndexByte(b, ' ')+1:])
	})
	return sorted
}
