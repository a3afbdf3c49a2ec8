package group_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/distribute/chat/internal/chattest"
	"skidway/internal/redistest"
)

func setLimits(t testing.TB, g fixture, id string, limits group.Limits) {
	t.Helper()
	if err := g.SetLimits(t.Context(), id, limits); err != nil {
		t.Fatal(err)
	}
}

// away makes Redis believe that a member was last here some time ago.
func away(t *testing.T, g fixture, id, member string, ago time.Duration) {
	t.Helper()
	now, err := g.db.Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	seen := redis.Z{Score: float64(now.Add(-ago).UnixMilli()), Member: member}
	if err := g.db.ZAdd(t.Context(), g.db.Prefix()+":chat:{"+id+"}:seen", seen).Err(); err != nil {
		t.Fatal(err)
	}
}

// member returns what is known of one member.
func member(t testing.TB, g fixture, id, name string) group.Member {
	t.Helper()
	members, err := g.Members(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range members {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("%s is not among the members %+v", name, members)
	return group.Member{}
}

func TestMemberSeesAJumpWhereLimitsDroppedAndItsLength(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		limits := group.Limits{Messages: 10}
		options := group.CreateOptions{Kind: group.Channel, Members: []string{"ann"}, Limits: limits}
		if _, err := g.Create(t.Context(), "c", &options); err != nil {
			t.Fatal(err)
		}
		for i := range uint64(25) {
			send(t, g, "c", "bob", fmt.Sprint(i+1), i+1)
		}
		if got := info(t, g, "c"); got.Kept != 10 || got.Oldest != 16 || got.Limits != limits {
			t.Errorf("got %+v", got)
		}
		if got := member(t, g, "c", "ann"); got.Missed != 15 || got.Unread != 10 || got.Cursor != 0 {
			t.Errorf("got %+v", got)
		}
		messages, err := g.Fetch(t.Context(), "c", "ann", 0)
		if err != nil || len(messages) != 10 || messages[0].ID != 16 {
			t.Fatalf("got %+v, %v", messages, err)
		}
		if got := member(t, g, "c", "ann"); got.Missed != 0 || got.Unread != 0 || got.Cursor != 25 {
			t.Errorf("afterwards %+v", got)
		}
	})
}

func TestNewLimitsAreObeyedAtOnceHoweverMuchThatIs(t *testing.T) {
	on.Backends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		for i := range uint64(1900) {
			send(t, g, "c", "bob", strings.Repeat("x", 100), i+1)
		}
		log := g.db.Prefix() + ":chat:{c}:log"
		for _, c := range []struct { // each drops more; some take several steps
			name   string
			limits group.Limits
			kept   uint64
		}{
			{"none", group.Limits{}, 1900},
			{"wide", group.Limits{Messages: 9999, Bytes: 1 << 40, Age: 9999 * time.Hour, Away: time.Hour}, 1900},
			{"messages", group.Limits{Messages: 1200}, 1200},
			{"bytes", group.Limits{Bytes: 600 * 103}, 600},
			{"strictest", group.Limits{Messages: 9, Bytes: 5 * 103, Age: time.Hour}, 5},
			{"not a whole one more", group.Limits{Bytes: 3*103 - 1}, 2},
			{"less than one", group.Limits{Bytes: 1}, 1},
		} {
			setLimits(t, g, "c", c.limits)
			if kept := uint64(g.db.XLen(t.Context(), log).Val()); kept != c.kept {
				t.Errorf("%s: %d messages are in Redis, want %d", c.name, kept, c.kept)
			}
			if got := info(t, g, "c"); got.Kept != c.kept || got.Bytes != c.kept*103 || got.Last != 1900 || got.Limits != c.limits {
				t.Errorf("%s: got %+v", c.name, got)
			}
		}
	})
}

func TestBytesOfBigAndSmallMessagesAreBounded(t *testing.T) {
	on.Backends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		const maxBytes = 3 << 20
		setLimits(t, g, "c", group.Limits{Bytes: maxBytes})
		for i := range uint64(40) {
			size := 1 + int(i*i*i)%70_000
			if i%5 == 0 {
				size = chat.MaxBody
			}
			send(t, g, "c", "bob", strings.Repeat("x", size), i+1)
			if got := info(t, g, "c"); got.Bytes > maxBytes || got.Kept == 0 {
				t.Fatalf("got %+v", got)
			}
		}
		setLimits(t, g, "c", group.Limits{Bytes: 100})
		if got := info(t, g, "c"); got.Kept != 1 || got.Oldest != 40 {
			t.Fatalf("got %+v", got)
		}
	})
}

func TestOldMessagesAreNotReadThoughNothingIsSentAfterThem(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, "embedded:")
	g, now := newFixture(db), time.UnixMilli(1763700000000)
	pass := func(d time.Duration) {
		now = now.Add(d)
		if err := db.SetEmbeddedTime(now); err != nil {
			t.Fatal(err)
		}
	}
	pass(0)
	options := group.CreateOptions{Kind: group.Channel, Members: []string{"ann", "eve"}, Limits: group.Limits{Age: time.Minute}}
	if _, err := g.Create(t.Context(), "c", &options); err != nil {
		t.Fatal(err)
	}
	for i := range uint64(600) {
		send(t, g, "c", "bob", "old", i+1)
	}
	pass(40 * time.Second)
	send(t, g, "c", "bob", "new", 601)
	pass(20 * time.Second)
	chattest.WantStrings(t, pending(t, g, "c", "ann")[:1], "old")
	pass(time.Millisecond)
	chattest.WantStrings(t, pending(t, g, "c", "ann"), "new")
	pass(time.Hour)
	for _, name := range []string{"ann", "eve"} {
		batches, err := g.PendingAll(t.Context(), name, 0)
		if err != nil || len(batches) > 0 {
			t.Fatalf("got %+v, %v", batches, err)
		}
	}
	if got := info(t, g, "c"); got.Kept != 0 || got.Last != 601 {
		t.Fatalf("got %+v", got)
	}
}

func TestMessagesAgeByTheClockOfRedis(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		send(t, g, "c", "bob", "x", 1)
		setLimits(t, g, "c", group.Limits{Age: time.Millisecond})
		for info(t, g, "c").Kept > 0 { // until the millisecond has passed
		}
		chattest.WantStrings(t, pending(t, g, "c", "ann"))
	})
}

func TestForeignEntriesAreReportedAndInNoLimitsWay(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		setLimits(t, g, "c", group.Limits{Bytes: 300, Age: time.Hour})
		for n := 1; n <= 3; n++ {
			entry := redis.XAddArgs{Stream: g.db.Prefix() + ":chat:{c}:log", ID: fmt.Sprint(n, "-0"), Values: []string{"time", "soon"}}
			if err := g.db.XAdd(t.Context(), &entry).Err(); err != nil {
				t.Fatal(err)
			}
		}
		messages, err := g.Pending(t.Context(), "c", "ann", 0, 0)
		if err != nil || len(messages) != 3 || messages[0].Err == nil {
			t.Fatalf("got %+v, %v", messages, err)
		}
		for i := range uint64(20) {
			send(t, g, "c", "bob", strings.Repeat("x", 97), 4+i)
		}
		if got := info(t, g, "c"); got.Kept != 3 || got.Bytes != 300 || got.Oldest != 21 {
			t.Fatalf("got %+v", got)
		}
	})
}

func TestDamagedLimitsAreReported(t *testing.T) {
	on.Backends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		if err := g.db.HSet(t.Context(), g.db.Prefix()+":chat:{c}", "limits", "many").Err(); err != nil {
			t.Fatal(err)
		}
		var corrupt *chat.CorruptError
		if _, err := g.Pending(t.Context(), "c", "ann", 0, 0); !errors.As(err, &corrupt) || corrupt.Where != "limits" {
			t.Fatalf("got error %v", err)
		}
	})
}

func TestMemberAwayForTooLongIsDropped(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.People, "ann", "bob", "cem")
		for i := range uint64(5) {
			send(t, g, "c", "ann", "x", i+1)
		}
		ack(t, g, "c", "bob", 4, 4)
		setLimits(t, g, "c", group.Limits{Away: time.Hour})
		away(t, g, "c", "cem", 59*time.Minute)
		if got := info(t, g, "c"); got.Members != 3 || got.Kept != 5 {
			t.Fatalf("dropped too early: %+v", got)
		}
		away(t, g, "c", "cem", time.Hour)
		if got := info(t, g, "c"); got.Members != 2 || got.Kept != 1 {
			t.Fatalf("got %+v", got)
		}
		_, err := g.Pending(t.Context(), "c", "cem", 0, 0)
		chattest.WantErr(t, err, chat.ErrNotMember)
	})
}

func TestReadIsAVisit(t *testing.T) {
	on.Backends(t, func(t *testing.T, g fixture) {
		ctx := t.Context()
		create(t, g, "c", group.People, "ann", "bob")
		send(t, g, "c", "bob", "x", 1)
		for name, call := range map[string]func() error{
			"pending":     func() error { return chattest.ErrorOf(g.Pending(ctx, "c", "ann", 0, 0)) },
			"pending all": func() error { return chattest.ErrorOf(g.PendingAll(ctx, "ann", 0)) },
			"ack":         func() error { return chattest.ErrorOf(g.Ack(ctx, "c", "ann", 0)) },
			"fetch":       func() error { return chattest.ErrorOf(g.Fetch(ctx, "c", "ann", 1)) },
			"send":        func() error { return chattest.ErrorOf(g.Send(ctx, "c", "ann", chat.Text("x"))) },
			"join":        func() error { return g.Join(ctx, "c", "ann", group.FromNow) },
			"wait":        func() error { send(t, g, "c", "bob", "y", info(t, g, "c").Last+1); return g.Wait(ctx, "ann") },
		} {
			away(t, g, "c", "ann", time.Hour)
			before := member(t, g, "c", "ann").Seen
			if err := call(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if seen := member(t, g, "c", "ann").Seen; seen.Sub(before) < time.Hour {
				t.Errorf("%s: seen %v, and before %v", name, seen, before)
			}
		}
	})
}

func TestLimitsThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	g := newFixture(redistest.DB(t))
	for name, limits := range map[string]group.Limits{
		"too many messages": {Messages: 1 << 53},
		"too many bytes":    {Bytes: 1 << 53},
		"negative age":      {Age: -time.Second},
		"age too short":     {Age: time.Microsecond},
		"negative away":     {Away: -time.Hour},
		"away too short":    {Away: group.MinAway - 1},
	} {
		var invalid *chat.InvalidError
		if err := g.SetLimits(t.Context(), "c", limits); !errors.As(err, &invalid) || !strings.HasPrefix(invalid.Field, "limit of") {
			t.Errorf("%s: got %v", name, err)
		}
		if _, err := g.Create(t.Context(), "c", &group.CreateOptions{Kind: group.Channel, Limits: limits}); !errors.As(err, &invalid) {
			t.Errorf("create with %s: got %v", name, err)
		}
	}
	chattest.WantErr(t, g.SetLimits(t.Context(), "nothing", group.Limits{}), chat.ErrNoChat)
}

func TestCostOfASendDoesNotGrowWithMembers(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t).URL(0)) // its own: it counts commands for all
	g := newFixture(db)
	cost := func(members int) (commands int) {
		t.Helper()
		id := fmt.Sprint("chat", members)
		create(t, g, id, group.People, "ann")
		for i := range members - 1 {
			if err := g.Join(t.Context(), id, fmt.Sprint("member", i), group.FromNow); err != nil {
				t.Fatal(err)
			}
		}
		send(t, g, id, "ann", "first", 1)
		before := commandsOf(t, g)
		send(t, g, id, "ann", "second", 2)
		return commandsOf(t, g) - before
	}
	if few, many := cost(2), cost(1000); few != many {
		t.Errorf("a send takes %d commands with 2 members and %d with 1000", few, many)
	}
}

// commandsOf counts all that a server has ever run, those inside scripts too.
func commandsOf(t *testing.T, g fixture) (n int) {
	t.Helper()
	text, err := g.db.Info(t.Context(), "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(text) {
		if _, err := fmt.Sscanf(line, "total_commands_processed:%d", &n); err == nil {
			return n
		}
	}
	t.Fatal("the server does not count")
	return 0
}

func TestLimitOfMessagesHoldsAfterAnEntryWasAddedByHand(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		setLimits(t, g, "c", group.Limits{Messages: 5})
		send(t, g, "c", "bob", "one", 1)
		add := &redis.XAddArgs{Stream: g.db.Prefix() + ":chat:{c}:log", ID: "1700000000000-0", Values: []string{"a", "b"}}
		if err := g.db.XAdd(t.Context(), add).Err(); err != nil {
			t.Fatal(err)
		}
		for i := range uint64(300) {
			send(t, g, "c", "bob", "x", 1700000000001+i)
		}
		if got := info(t, g, "c"); got.Kept != 5 {
			t.Errorf("a chat with at most 5 messages keeps %d", got.Kept)
		}
	})
}

func TestLimitOfAgeKeepsYoungMessagesOfTheReleaseBefore(t *testing.T) {
	on.AllBackends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel, "ann")
		now, err := g.db.Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		for i := range 100 { // as the release before wrote them
			add := &redis.XAddArgs{Stream: g.db.Prefix() + ":chat:{c}:log", ID: fmt.Sprintf("%d-0", i+1),
				Values: []string{"sender", "bob", "body", "x", "time", fmt.Sprint(now.UnixMilli())}}
			if err := g.db.XAdd(t.Context(), add).Err(); err != nil {
				t.Fatal(err)
			}
		}
		if err := g.db.HSet(t.Context(), g.db.Prefix()+":chat:{c}", "last", 100).Err(); err != nil {
			t.Fatal(err)
		}
		setLimits(t, g, "c", group.Limits{Age: time.Hour, Bytes: 1 << 30})
		if got := info(t, g, "c"); got.Kept != 100 {
			t.Errorf("of 100 messages that are a second old, %d are kept for an hour", got.Kept)
		}
	})
}

func TestTwoChangesOfTheLimitsAtOnceAreBothMade(t *testing.T) {
	on.Backends(t, func(t *testing.T, g fixture) {
		create(t, g, "c", group.Channel)
		calls := 0
		err := g.ChangeLimits(t.Context(), "c", func(l group.Limits) group.Limits {
			l.Messages = 7
			if calls++; calls > 1 {
				return l
			}
			err := g.ChangeLimits(t.Context(), "c", func(l group.Limits) group.Limits { l.Age = time.Hour; return l })
			if err != nil {
				t.Error(err)
			}
			return l
		})
		if got := info(t, g, "c").Limits; err != nil || calls != 2 || got != (group.Limits{Messages: 7, Age: time.Hour}) {
			t.Errorf("after %d calls the limits are %+v, %v", calls, got, err)
		}
	})
}
