package redistest_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/redistest"
)

func TestCutEndsConnectionsAndTakesNewOnes(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p, direct := redistest.StartProxy(t, server.URL(0)), redistest.Open(t, server.URL(0))
	db := redistest.Open(t, p.URL)
	ended := make(chan error, 1)
	go func() { ended <- db.BLPop(t.Context(), 0, "l").Err() }()
	blocked(t, direct, 1)
	p.Cut()
	if err := within(t, ended); err == nil {
		t.Error("a read outlived its connection")
	}
	if err := db.Retry(t.Context(), func() error { return db.Incr(t.Context(), "n").Err() }); err != nil {
		t.Error(err)
	}
}

func TestRedirectedProxyLeadsToTheOtherServer(t *testing.T) {
	t.Parallel()
	first, second := redistest.Start(t).URL(0), redistest.Start(t).URL(0)
	p := redistest.StartProxy(t, first)
	db := redistest.Open(t, p.URL)
	db.Incr(t.Context(), "n")
	p.Redirect(second)
	if err := db.Retry(t.Context(), func() error { return db.IncrBy(t.Context(), "n", 5).Err() }); err != nil {
		t.Error(err)
	}
	wantCount(t, redistest.Open(t, first), 1)
	wantCount(t, redistest.Open(t, second), 5)
}

func TestRefusedCommandsAreNotRunAndThoseBesideThemAre(t *testing.T) {
	t.Parallel()
	p, db, direct := proxied(t)
	p.RefuseCommands(1, "refused", "TRYAGAIN later")
	var replies [3]*redis.IntCmd
	_, _ = db.Pipelined(t.Context(), func(pipe redis.Pipeliner) error { // each reply has its error
		for i, key := range []string{"n", "refused", "n"} {
			replies[i] = pipe.Incr(t.Context(), key)
		}
		return nil
	})
	if err := replies[1].Err(); !redis.HasErrorPrefix(err, "TRYAGAIN later") || replies[0].Err() != nil || replies[2].Err() != nil {
		t.Errorf("%v", replies)
	}
	wantCount(t, direct, 2)
	if n := direct.Exists(t.Context(), "refused").Val(); n != 0 || p.Refusals() != 0 {
		t.Errorf("the refused command was run: %d, %d refusals are left", n, p.Refusals())
	}
	wantCommands(t, p, 2)
}

func TestNothingPassesWhileHeldAndAllAfterwards(t *testing.T) {
	t.Parallel()
	p, db, direct := proxied(t)
	direct.Set(t.Context(), "n", 0, 0)
	p.Hold()
	p.Hold() // as good as once
	before := p.Commands()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	held := make(chan error, 1)
	go func() { held <- db.Incr(t.Context(), "n").Err() }()
	<-ctx.Done() // as long as one would wait for an answer
	select {
	case err := <-held:
		t.Fatalf("it was answered: %v", err)
	default:
	}
	wantCommands(t, p, before)
	wantCount(t, direct, 0)
	p.Release()
	p.Release()
	if err := within(t, held); err != nil {
		t.Error(err)
	}
	wantCount(t, direct, 1)
}

func TestCommandOfAClientThatGaveUpArrivesAfterRelease(t *testing.T) {
	t.Parallel()
	p, _, direct := proxied(t)
	p.Hold()
	client := dial(t, p, "RPUSH l late\r\n")
	_ = client.Close()
	p.Release()
	if got, err := direct.BLPop(t.Context(), 20*time.Second, "l").Result(); err != nil || got[1] != "late" {
		t.Errorf("got %v, %v", got, err)
	}
}

func TestProxyOutlivesItsServer(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	p := redistest.StartProxy(t, server.URL(0))
	db := redistest.Open(t, p.URL)
	server.Kill()
	if err := db.Incr(t.Context(), "n").Err(); err == nil {
		t.Fatal("a dead server answered")
	}
	if err := server.Restart(); err != nil {
		t.Fatal(err)
	}
	if err := db.Retry(t.Context(), func() error { return db.Incr(t.Context(), "n").Err() }); err != nil {
		t.Error(err)
	}
}

func TestHeldReplyArrivesWhenItIsReleased(t *testing.T) {
	t.Parallel()
	p, db, direct := proxied(t)
	first, second := p.HoldReply("GET", "secret"), p.HoldReply("GET", "secret")
	direct.Set(t.Context(), "k", "a secret", 0)
	got := make(chan string, 2)
	for _, held := range []*redistest.HeldReply{first, second} {
		go func() { got <- db.Get(t.Context(), "k").Val() }()
		within(t, held.Held())
	}
	if err := db.Incr(t.Context(), "n").Err(); err != nil || len(got) > 0 {
		t.Fatalf("%d held replies arrived, another command got %v", len(got), err)
	}
	for _, held := range []*redistest.HeldReply{first, second} {
		held.Release()
		if value := within(t, got); value != "a secret" {
			t.Errorf("got %q", value)
		}
	}
	if value := db.Get(t.Context(), "k").Val(); value != "a secret" {
		t.Errorf("a third reply is %q", value)
	}
}

func TestHeldReplyThatIsDroppedIsOfACommandThatWasCarriedOut(t *testing.T) {
	t.Parallel()
	p, db, direct := proxied(t)
	held := p.HoldReply("incr", ":7\r\n")
	failed := make(chan error, 1)
	go func() { failed <- db.IncrBy(t.Context(), "n", 7).Err() }()
	within(t, held.Held())
	wantCount(t, direct, 7)
	held.Drop()
	if err := within(t, failed); err == nil {
		t.Error("the reply arrived")
	}
	if n, err := db.Incr(t.Context(), "n").Result(); n != 8 || err != nil {
		t.Errorf("the next command gets %d, %v", n, err)
	}
}

func TestLostCommandsAreNotCarriedOut(t *testing.T) {
	t.Parallel()
	p, db, direct := proxied(t)
	lost := p.LoseCommands("lose-me")
	for range 2 {
		if err := db.Set(t.Context(), "n", "lose-me", 0).Err(); err == nil {
			t.Error("a lost command was answered")
		}
		within(t, lost)
	}
	if err := db.Incr(t.Context(), "n").Err(); err != nil {
		t.Errorf("another command got %v", err)
	}
	wantCount(t, direct, 1)
	p.LoseCommands("")
	if err := db.Set(t.Context(), "n", "lose-me", 0).Err(); err != nil {
		t.Errorf("a command after the end of the fault got %v", err)
	}
}
