package rdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

const increment = `return redis.call('INCR', KEYS[1])`

func TestScriptsRunOnEveryBackend(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		ctx := soon(t)
		n, err := rdb.NewScript("count", increment).Int(ctx, db, []string{"k"})
		if err != nil || n != 1 {
			t.Errorf("Int returned %d and %v", n, err)
		}
		list, err := rdb.NewIdempotentScript("list", `return {'a', 2, false, ARGV[1]}`).Run(ctx, db, []string{"k"}, "x")
		if want := []string{"a", "2", "", "x"}; err != nil || !slices.Equal(list.Texts(), want) {
			t.Errorf("the list is %q and %v, want %q", list.Texts(), err, want)
		}
		reply, err := rdb.NewScript("nothing", `return false`).Run(ctx, db, []string{"k"})
		if err != nil || reply.Len() != 0 {
			t.Errorf("no reply returned %v and %v", reply, err)
		}
		_, err = rdb.NewScript("fail so", `return redis.error_reply('WRONG so')`).Run(ctx, db, []string{"k"})
		if err == nil || !strings.HasPrefix(err.Error(), "fail so: WRONG") {
			t.Errorf("a script's own error is %v", err)
		}
		if _, err = rdb.NewScript("count words", `return 'x'`).Int(ctx, db, []string{"k"}); err == nil {
			t.Error("a word was read as a number")
		}
	})
}

func TestScriptIsSentAgainToAServerThatForgotIt(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		ctx, count := soon(t), rdb.NewScript("count", increment)
		for want := int64(1); want <= 3; want++ {
			n, err := count.Int(ctx, db, []string{"k"})
			if err != nil || n != want {
				t.Fatalf("run %d returned %d and %v", want, n, err)
			}
			if err := db.ScriptFlush(ctx).Err(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func TestManyRunsOfAScriptShareARoundTripAndFailAlone(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		ctx := soon(t)
		key := func(name string) string { return db.Prefix() + ":{" + name + "}" }
		if err := db.LPush(ctx, key("b"), "x").Err(); err != nil {
			t.Fatal(err)
		}
		add := rdb.NewIdempotentScript("add", `return redis.call('SADD', KEYS[1], ARGV[1])`)
		var calls []rdb.Call
		for _, name := range []string{"a", "b", "c"} {
			calls = append(calls, rdb.Call{Keys: []string{key(name)}, Args: []any{"1"}})
		}
		for want := int64(1); want >= 0; want-- {
			results, err := add.RunAll(ctx, db, calls)
			if err != nil || len(results) != 3 {
				t.Fatalf("got %v, %v", results, err)
			}
			for i, result := range results {
				n, err := result.Int(0), result.Err
				if failed := err != nil && strings.Contains(err.Error(), "WRONGTYPE"); failed != (i == 1) || !failed && (err != nil || n != want) {
					t.Errorf("result %d: %d, %v", i, n, err)
				}
			}
		}
		if answers, err := add.RunAll(ctx, db, nil); err != nil || len(answers) != 0 {
			t.Errorf("no calls returned %v, %v", answers, err)
		}
		over, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := add.RunAll(over, db, calls); !errors.Is(err, context.Canceled) {
			t.Errorf("after its context ended: %v", err)
		}
	})
}

// lossy opens a connection whose answers can get lost on the way.
func lossy(t *testing.T) (*rdb.DB, *proxy) {
	t.Helper()
	server := redistest.Start(t)
	listener, path := listen(t)
	socket, _, _ := strings.Cut(strings.TrimPrefix(server.URL(0), "unix://"), "?")
	lost := through(t, listener, "unix", socket)
	return open(t, "unix://"+path, rdb.Options{}), lost
}

func TestManyRunsAreRepeatedAfterALostAnswer(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	db, lost := lossy(t)
	add := rdb.NewIdempotentScript("add", `return redis.call('PFADD', KEYS[1], ARGV[1])`)
	lost.lose("the-key")
	answers, err := add.RunAll(ctx, db, []rdb.Call{{Keys: []string{"the-key"}, Args: []any{1}}, {Keys: []string{"other"}, Args: []any{1}}})
	if err != nil || answers[0].Err != nil || answers[1].Err != nil {
		t.Fatalf("got %v, %v", answers, err)
	}
}

func TestManyRunsOfAScriptReturnTheAnswersThatCame(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	db := open(t, redistest.URL(t), rdb.Options{Patience: -1})
	add := rdb.NewIdempotentScript("add", `return redis.call('SADD', KEYS[1], ARGV[1])`)
	calls := []rdb.Call{{Keys: []string{"a"}, Args: []any{1}}, {Keys: []string{"away"}, Args: []any{1}}, {Keys: []string{"b"}, Args: []any{1}}}
	db.AddHook(awayHook{})
	results, err := add.RunAll(ctx, db, calls)
	var away *rdb.UnreachableError
	if !errors.As(err, &away) || len(results) != 3 || results[0].Err != nil || results[0].Int(0) != 1 || results[2].Err != nil || results[2].Int(0) != 1 {
		t.Fatalf("got %v, %v", results, err)
	}
	if !errors.As(results[1].Err, &away) {
		t.Errorf("the call without an answer has %v", results[1].Err)
	}
}

// awayHook loses the answers to commands with the key "away".
type awayHook struct{}

func (awayHook) DialHook(next redis.DialHook) redis.DialHook          { return next }
func (awayHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook { return next }
func (awayHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			if strings.Contains(fmt.Sprint(cmd.Args()), "away") {
				cmd.SetErr(io.EOF)
				err = io.EOF
			}
		}
		return err
	}
}

func TestIdempotentScriptIsRepeatedAfterALostAnswer(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	db, lost := lossy(t)
	lost.lose("the-key")
	n, err := rdb.NewIdempotentScript("count", increment).Int(ctx, db, []string{"the-key"})
	if err != nil {
		t.Fatal(err)
	}
	// EVALSHA's answer, NOSCRIPT, was lost; then EVALSHA again, then EVAL.
	if n != 1 || lost.requests() != 3 {
		t.Fatalf("the count is %d after %d requests", n, lost.requests())
	}
	lost.lose("the-key")
	if n, err = rdb.NewIdempotentScript("count", increment).Int(ctx, db, []string{"the-key"}); n != 3 || err != nil {
		t.Fatalf("the count is %d (%v); it ran twice more, so want 3", n, err)
	}
}

func TestLostAnswerOfOtherScriptIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()
	ctx := soon(t)
	db, lost := lossy(t)
	count := rdb.NewScript("count it", increment)
	if _, err := count.Int(ctx, db, []string{"the-key"}); err != nil {
		t.Fatal(err)
	}
	lost.lose("the-key")
	_, err := count.Int(ctx, db, []string{"the-key"})
	var unknown *rdb.OutcomeUnknownError
	if !errors.As(err, &unknown) || unknown.Op != "count it" {
		t.Fatalf("the error is %v, want an OutcomeUnknownError", err)
	}
	if n := db.Get(ctx, "the-key").Val(); n != "2" || lost.requests() != 2 {
		t.Errorf("the count is %s, want 2: run once more and not repeated", n)
	}
}

func TestLostAnswerIsAnUnknownOutcomeAlsoWhenTheContextEnded(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	db := open(t, proxy.URL, rdb.Options{})
	count := rdb.NewScript("count it", increment)
	if _, err := count.Int(soon(t), db, []string{"the-key"}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	held := proxy.HoldReply("evalsha", "")
	failed := make(chan error, 1)
	go func() {
		_, err := count.Int(ctx, db, []string{"the-key"})
		failed <- err
	}()
	<-held.Held()
	cancel()
	held.Drop()
	err := <-failed
	var unknown *rdb.OutcomeUnknownError
	if !errors.As(err, &unknown) || !errors.Is(err, context.Canceled) {
		t.Fatalf("the error is %v, want an OutcomeUnknownError that holds the context's", err)
	}
	// Not even sent: nothing is unknown.
	_, err = count.Int(ctx, db, []string{"the-key"})
	if errors.As(err, &unknown) || !errors.Is(err, context.Canceled) {
		t.Errorf("with an ended context the error is %v", err)
	}
}

func TestScriptThatWasCertainlyNotRunIsTriedAgain(t *testing.T) {
	t.Parallel()
	t.Run("server away", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t)
		db := open(t, server.URL(0), rdb.Options{})
		server.Kill()
		// The connections that are left over notice before they send; the
		// dial fails, and the server comes back after that.
		var restarted bool
		db.AddHook(after(func(cmd redis.Cmder) {
			if cmd.Err() != nil && !restarted {
				restarted = true
				if err := server.Restart(); err != nil {
					t.Error(err)
				}
			}
		}))
		if n, err := rdb.NewScript("count", increment).Int(soon(t), db, []string{"k"}); n != 1 || err != nil {
			t.Fatalf("the count is %d, the error %v", n, err)
		}
	})
	t.Run("server is a replica", func(t *testing.T) {
		t.Parallel()
		server := redistest.Start(t, "--replicaof", "127.0.0.1 1")
		proxy := redistest.StartProxy(t, server.URL(0))
		db, other := open(t, proxy.URL, rdb.Options{}), open(t, server.URL(0), rdb.Options{})
		refused := proxy.HoldReply("eval", "READONLY")
		go func() {
			<-refused.Held()
			if err := other.Do(t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
				t.Error(err)
			}
			refused.Release()
		}()
		if n, err := rdb.NewScript("count", increment).Int(soon(t), db, []string{"k"}); n != 1 || err != nil {
			t.Fatalf("the count is %d, the error %v", n, err)
		}
	})
}

// after calls a function behind each command.
type after func(redis.Cmder)

func (after) DialHook(next redis.DialHook) redis.DialHook { return next }

func (f after) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		cmd.SetErr(err)
		f(cmd)
		return err
	}
}

func (after) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
