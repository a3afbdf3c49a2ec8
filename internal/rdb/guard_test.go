package rdb_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

var lookScript = rdb.NewIdempotentScript("look", "return {redis.call('GET', KEYS[1])}")

// A guarded command runs only if the look allows it and nothing has changed its key since, and
// leaves the connection as it was.
func TestGuardedCommandsRunOnCondition(t *testing.T) {
	url, cluster := redistest.URL(t), redistest.ClusterDB(t)
	for name, db := range map[string]*rdb.DB{"redis": open(t, url, rdb.Options{PoolSize: 1}), "cluster": cluster} {
		other := cluster
		if name == "redis" {
			other = redistest.Open(t, url)
		}
		ctx, key := soon(t), db.Prefix()+":{s}"
		guard := rdb.Guard{Watched: []string{key}, Look: lookScript.WithWords(), Call: rdb.Call{Keys: []string{key}}}
		for _, c := range []struct {
			value  string // that the look returns
			change string // in between
			ran    bool
		}{{"ok", "", true}, {"no", "", false}, {"ok", "ok", false}, {"ok", "", true}} {
			if err := db.Set(ctx, key, c.value, 0).Err(); err != nil {
				t.Fatal(err)
			}
			before := db.LLen(ctx, key+":list").Val()
			ran, err := db.RunGuarded(ctx, "push", guard, func(rdb.Reply) redis.Cmder {
				if c.change != "" {
					other.Set(ctx, key, c.change, 0)
				}
				return redis.NewIntCmd(ctx, "rpush", key+":list", "x")
			})
			if added := db.LLen(ctx, key+":list").Val() > before; err != nil || ran != c.ran || added != ran {
				t.Errorf("%s, %+v: ran %t, added %t, %v", name, c, ran, added, err)
			}
			db.Set(ctx, key, "changed", 0)
			if _, err := db.TxPipelined(ctx, func(pipe redis.Pipeliner) error { return pipe.Get(ctx, key).Err() }); err != nil {
				t.Errorf("%s, %+v: a later transaction: %v", name, c, err)
			}
		}
	}
}

// A user who may watch keys but not begin a transaction runs the command without a condition.
func TestGuardedCommandWithoutTransactionIsNotTakenForOneThatDidNotRun(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	admin := redistest.Open(t, server.URL(0))
	ctx := soon(t)
	if err := admin.Do(ctx, "acl", "setuser", "default", "-multi").Err(); err != nil {
		t.Fatal(err)
	}
	db := redistest.Open(t, server.URL(0))
	if err := db.Set(ctx, "k", "ok", 0).Err(); err != nil {
		t.Fatal(err)
	}
	guard := rdb.Guard{Watched: []string{"k"}, Look: lookScript.WithWords(), Call: rdb.Call{Keys: []string{"k"}}}
	ran, err := db.RunGuarded(ctx, "push", guard, func(rdb.Reply) redis.Cmder { return redis.NewIntCmd(ctx, "rpush", "list", "x") })
	var unknown *rdb.OutcomeUnknownError
	if ran || !errors.As(err, &unknown) {
		t.Errorf("ran: %t, %v", ran, err)
	}
	if err := db.Ping(ctx).Err(); err != nil {
		t.Errorf("the next command: %v", err)
	}
}

func TestEntriesOfRepliesAreReadInBothProtocols(t *testing.T) {
	stream := "$1\r\ns\r\n*2\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\na\r\n$3\r\nb\r\n\r\n*2\r\n$3\r\n2-1\r\n*0\r\n"
	for reply, want := range map[string]string{
		"*1\r\n*2\r\n" + stream:          `1-1["a" "b\r\n"] 2-1[]`,
		"%1\r\n" + stream:                `1-1["a" "b\r\n"] 2-1[]`,
		"*-1\r\n":                        "",
		"_\r\n":                          "",
		"-NOGROUP none\r\n":              "",
		"":                               "error",
		"*1\r\n":                         "error",
		":1\r\n":                         "error",
		"%1\r\n$9223372036854775807\r\n": "error",
		"%1\r\n" + stream[:30]:           `error`,
	} {
		if got := entriesOf(reply); got != want {
			t.Errorf("%q: got %s, want %s", reply, got, want)
		}
	}
}

// entriesOf describes the entries of a reply, "error" if it is malformed.
func entriesOf(reply string) string {
	var got []string
	err := rdb.EachEntry([]byte(reply), func(id []byte, fields [][]byte) { got = append(got, fmt.Sprintf("%s%q", id, fields)) })
	if err != nil {
		return "error"
	}
	return strings.Join(got, " ")
}

func FuzzEntriesAreReadFromAnyReply(f *testing.F) {
	f.Add("*1\r\n*2\r\n$1\r\ns\r\n*1\r\n*2\r\n$3\r\n1-1\r\n*2\r\n$1\r\na\r\n$1\r\nb\r\n")
	f.Add("%1\r\n$1\r\ns\r\n*999999999\r\n*2\r\n$99999999999\r\n")
	f.Add("%1\r\n$9223372036854775807\r\n")
	f.Fuzz(func(t *testing.T, reply string) {
		size := 0
		_ = rdb.EachEntry([]byte(reply), func(id []byte, fields [][]byte) {
			size += len(id) + len(slices.Concat(fields...))
		})
		if size > len(reply) {
			t.Errorf("%d bytes from a reply of %d", size, len(reply))
		}
	})
}
