package queue_test

import (
	"github.com/redis/go-redis/v9"
	"pgregory.net/rapid"
)

// MakeDue moves the time of a delayed job into the past.
func (m *machine) MakeDue(t *rapid.T) {
	for range rapid.IntRange(1, 3).Draw(t, "jobs") {
		j := pick(t, "delayed job", m.model.at(inDelayed))
		j.due = int64(m.old())
		m.redis(t, m.db.ZAddXX(ctx, m.base+"delayed", redis.Z{Score: float64(j.due), Member: j.id}))
	}
}

func (m *machine) MoveDue(t *rapid.T) {
	caller := rapid.SampledFrom([]string{"mover1", "mover2"}).Draw(t, "caller")
	got, err := m.queue.MoveDue(ctx, caller)
	now := nowMillis()
	moved, next, isWaker := m.model.move(caller, now)
	if err != nil || got.Jobs != moved || got.Waker != isWaker || (got.Next < 0) != (next == nil) || got.More != (next != nil && next.due <= now) {
		t.Fatalf("moved %+v, %v, want %d and then %+v, isWaker %t", got, err, moved, next, isWaker)
	}
	if next != nil && got.Next > 0 && got.Next.Milliseconds()-(next.due-now) > 1000 {
		t.Fatalf("the next is due in %s, want %d ms", got.Next, next.due-now)
	}
}

// ExpireKey ends the duration of a unique key.
func (m *machine) ExpireKey(t *rapid.T) {
	key := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key")
	if held := m.model.unique[key]; held != nil && held.expires {
		held.expired = true
		m.redis(t, m.db.ZAddXX(ctx, m.base+"unique:expiry", redis.Z{Score: m.old(), Member: key}))
	}
}

// Age ends the retention of a dead or finished job.
func (m *machine) Age(t *rapid.T) {
	where := rapid.SampledFrom([]place{inDead, inResults}).Draw(t, "where")
	j := pick(t, "ended job", m.model.at(where))
	j.aged = true
	key := map[place]string{inDead: "dead", inResults: "results"}[where]
	m.redis(t, m.db.ZAddXX(ctx, m.base+key, redis.Z{Score: m.old(), Member: j.id}))
}

// Await starts a wait for the end of a job.
func (m *machine) Await(t *rapid.T) {
	j := pick(t, "job", append(m.model.waiting(), m.model.at(inDelayed)...))
	m.redis(t, m.db.ZAdd(ctx, m.base+"waited", redis.Z{Score: 1e15, Member: j.id}))
	m.model.waited[j.id] = true
}

// Note adds logs and progress to an active job, or cancels it.
func (m *machine) Note(t *rapid.T) {
	j := pick(t, "active job", m.model.held(m.busy(t)))
	if rapid.Bool().Draw(t, "cancel") {
		j.cancelled = true
		m.redis(t, m.db.HSet(ctx, m.base+"cancelled", j.id, 1))
		return
	}
	j.noted = true
	m.redis(t, m.db.HSet(ctx, m.base+"logs", j.id, "line"))
	m.redis(t, m.db.HSet(ctx, m.base+"progress", j.id, "50%"))
}
