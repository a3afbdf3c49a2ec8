package rdb_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

var (
	note = rdb.NewIdempotentScript("note", `return redis.call('RPUSH', KEYS[1], ARGV[1])`)
	take = rdb.NewScript("take", `return redis.call('LRANGE', KEYS[1], 0, -1)`)
)

func noteStep(key, text string) rdb.Step {
	return rdb.Step{Script: note, Call: rdb.Call{Keys: []string{key}, Args: []any{text}}}
}

func TestScriptRunsAfterAnother(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		ctx, key := soon(t), db.Prefix()+":{a}:list"
		want := []string{}
		for i := range 3 { // at first Redis knows neither script
			text := fmt.Sprint(i)
			want = append(want, text)
			reply, err := take.RunAfter(ctx, db, noteStep(key, text), []string{key})
			if err != nil || !slices.Equal(reply.Texts(), want) {
				t.Fatalf("got %q, %v, want %q", reply.Texts(), err, want)
			}
		}
	})
}

func TestScriptsOfOneRoundTrip(t *testing.T) {
	t.Parallel()
	proxy := redistest.StartProxy(t, redistest.URL(t))
	db := open(t, proxy.URL, rdb.Options{Patience: -1})
	ctx, key := soon(t), "k"
	if _, err := take.RunAfter(ctx, db, noteStep(key, "a"), []string{key}); err != nil {
		t.Fatal(err)
	}
	proxy.RefuseCommands(1, "refused", "ERR no")
	if _, err := take.RunAfter(ctx, db, noteStep(key, "refused"), []string{key}); err != nil {
		t.Fatal(err)
	}
	proxy.DropReply(2)
	_, err := take.RunAfter(ctx, db, noteStep(key, "b"), []string{key})
	if unknown := new(rdb.OutcomeUnknownError); !errors.As(err, &unknown) {
		t.Errorf("after a lost reply: %v", err)
	}
	if list := db.LRange(ctx, key, 0, -1).Val(); !slices.Equal(list, []string{"a", "refused", "b"}) {
		t.Errorf("the list is %q", list)
	}
}
