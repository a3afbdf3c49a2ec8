package group_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/redistest"
)

// grace is how long no member is dropped after all were away for too long.
const grace = time.Minute

// dropAway ends the memberships of those who were away for too long.
func (m *model) dropAway(now time.Time) {
	var away []string
	var newest time.Time
	for name, seen := range m.seen {
		if now.Sub(seen) >= m.limits.Away {
			away = append(away, name)
		}
		if seen.After(newest) {
			newest = seen
		}
	}
	start := m.grace.Add(-grace)
	switch {
	case len(away) == 0, now.Before(m.grace):
		return
	case len(away) == len(m.cursors) && (m.grace.IsZero() || !newest.Before(start)):
		m.grace = now.Add(grace)
		return
	}
	for _, name := range away {
		m.leave(name)
	}
}

// passing returns a group client and a function that lets time pass.
func passing(t *testing.T) (fixture, func(time.Duration)) {
	db := redistest.Open(t, "embedded:")
	now := chattest.Noon
	pass := func(d time.Duration) {
		now = now.Add(d)
		chattest.SetTime(t, db, now)
	}
	pass(0)
	return newFixture(db), pass
}

func TestOutageOfRedisDropsNoMember(t *testing.T) {
	t.Parallel()
	g, pass := passing(t)
	options := group.CreateOptions{Members: []string{"ann", "bob", "cem"}, Limits: group.Limits{Away: time.Minute}}
	if _, err := g.Create(t.Context(), "c", &options); err != nil {
		t.Fatal(err)
	}
	send(t, g, "c", "ann", "x", 1)
	for range 3 { // outages
		pass(10 * time.Minute)
		chattest.WantStrings(t, pending(t, g, "c", "bob"), "x")
		pass(grace - time.Millisecond)
		chattest.WantStrings(t, pending(t, g, "c", "cem"), "x")
		pass(0)
		chattest.WantStrings(t, pending(t, g, "c", "ann"))
	}
	pass(time.Millisecond)
	if got := info(t, g, "c"); got.Members != 2 { // bob has been away for a minute, the others have not
		t.Errorf("after the grace %+v", got)
	}
}

func TestAbandonedChatEndsAMinuteLater(t *testing.T) {
	t.Parallel()
	for _, members := range []int{1, 300} { // the last are dropped in several steps
		t.Run(fmt.Sprint(members), func(t *testing.T) {
			t.Parallel()
			g, pass := passing(t)
			options := group.CreateOptions{Limits: group.Limits{Away: time.Hour}}
			for i := range members {
				options.Members = append(options.Members, fmt.Sprint("member", i))
			}
			if _, err := g.Create(t.Context(), "c", &options); err != nil {
				t.Fatal(err)
			}
			send(t, g, "c", "member0", "x", 1)
			pass(time.Hour)
			for _, wait := range []time.Duration{0, grace / 2, grace/2 - time.Millisecond} {
				pass(wait)
				if got := info(t, g, "c"); got.Members != uint64(members) {
					t.Fatalf("got %+v", got)
				}
			}
			pass(time.Millisecond)
			var err error
			for range members {
				if _, err = g.Info(t.Context(), "c"); errors.Is(err, chat.ErrNoChat) {
					break
				}
			}
			chattest.WantErr(t, err, chat.ErrNoChat)
			wantNothingLeft(t, g, "c")
		})
	}
}
