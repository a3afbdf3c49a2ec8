package queue_test

import (
	"fmt"
	"math"

	"pgregory.net/rapid"
)

// A modelAmnesty is the latest amnesty, and the time of the last open or renewal of a
// lease, in ms of the clock of Redis.
type modelAmnesty struct {
	begun, ends, spares float64
	renewed             float64
}

func (a *modelAmnesty) lasts(now float64) bool { return a.begun <= now && now < a.ends }

// silent reports whether an open or renewal starts an amnesty.
func (m *model) silent(now float64) bool {
	return m.amnesty.renewed > 0 && m.longest() > 0 && now-m.amnesty.renewed > 0.6*m.longest()
}

// longest returns the length of the longest lease in ms.
func (m *model) longest() (longest float64) {
	for _, w := range m.workers {
		if w.row {
			longest = max(longest, float64(w.length.Milliseconds()))
		}
	}
	return longest
}

// buried reports whether recovery buries a lease that expires at end.
func (m *model) buried(end, now float64) bool {
	switch a := m.amnesty; {
	case a.lasts(now):
		return end < now && end <= a.spares
	case m.silent(now):
		return end < now && end <= a.renewed
	}
	return end < now
}

// renewed records in the model that a lease was opened or renewed, and compares Redis with
// it. A new worker must not be in the model yet.
func (m *machine) renewed(t *rapid.T, now float64) {
	a := &m.model.amnesty
	if m.model.silent(now) && !a.lasts(now) {
		a.begun, a.ends, a.spares = now, now+math.Ceil(0.8*m.model.longest())+1000, a.renewed
	}
	a.renewed = now
	got := m.db.HMGet(ctx, m.base+"meta", "renewed", "amnesty_begun", "amnesty_ends", "amnesty_spares")
	m.redis(t, got)
	want := []any{fmt.Sprintf("%.0f", a.renewed), nil, nil, nil}
	if a.begun > 0 {
		want = []any{want[0], fmt.Sprintf("%.0f", a.begun), fmt.Sprintf("%.0f", a.ends), fmt.Sprintf("%.0f", a.spares)}
	}
	if fmt.Sprint(got.Val()) != fmt.Sprint(want) {
		t.Fatalf("after a renewal at %.0f the amnesty is %v, want %v", now, got.Val(), want)
	}
}

// Silence moves the last renewal of a lease into the past, and with it an amnesty.
func (m *machine) Silence(t *rapid.T) {
	a := &m.model.amnesty
	if a.renewed == 0 {
		t.Skip("no lease was opened yet")
	}
	lasted := math.Round(m.model.longest() * rapid.SampledFrom([]float64{0.3, 0.7, 2}).Draw(t, "leases"))
	a.renewed -= lasted
	m.redis(t, m.db.HSet(ctx, m.base+"meta", "renewed", fmt.Sprintf("%.0f", a.renewed)))
	if a.begun > 0 {
		a.begun, a.ends = a.begun-lasted, a.ends-lasted
		m.redis(t, m.db.HSet(ctx, m.base+"meta", "amnesty_begun", fmt.Sprintf("%.0f", a.begun), "amnesty_ends", fmt.Sprintf("%.0f", a.ends)))
	}
}
