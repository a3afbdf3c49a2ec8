package doctor

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// needed are the commands that Skidway sends, from Go and in scripts, in a form
// that Redis accepts. K stands for a key. Commands of benchmarks are left out. A
// test compares the list with the code.
const needed = `
PING
TIME
EXISTS K
TYPE K
GET K
SET K v
MGET K
INCR K
APPEND K v
GETRANGE K 0 1
UNLINK K
DEL K
RENAME K K
PEXPIRE K 1
PEXPIREAT K 1
PERSIST K
PTTL K
EVAL return 1 K
EVALSHA e0e1f9fabfc9d4800c877a703b823ac0578ff8db 1 K
HGET K f
HSET K f v
HSETNX K f v
HDEL K f
HLEN K
HKEYS K
HVALS K
HMGET K f
HGETALL K
HEXISTS K f
HSTRLEN K f
HSCAN K 0
HRANDFIELD K 1
HINCRBY K f 1
SADD K m
SREM K m
SCARD K
SMEMBERS K
SISMEMBER K m
SRANDMEMBER K 1
ZADD K 1 m
ZREM K m
ZCARD K
ZCOUNT K 0 1
ZSCORE K m
ZMSCORE K m
ZRANK K m
ZRANGE K 0 1
ZRANGEBYSCORE K 0 1
ZRANGEBYLEX K - +
ZINCRBY K 1 m
ZREMRANGEBYRANK K 0 0
ZREMRANGEBYSCORE K 0 0
ZSCAN K 0
PFMERGE K K
XADD K * f v
XDEL K 1-1
XACK K g 1-1
XLEN K
XTRIM K MAXLEN 1
XRANGE K - +
XREVRANGE K + -
XREAD STREAMS K $
XREADGROUP GROUP g c STREAMS K >
XPENDING K g
XGROUP CREATE K g 0
XGROUP SETID K g $
XGROUP DELCONSUMER K g c
XINFO STREAM K
XINFO GROUPS K
XINFO CONSUMERS K g
MEMORY USAGE K
WATCH K
UNWATCH
`

// access is what the user of the connection may not do.
type access struct {
	user   string   // empty: hidden
	denied []string // commands, as ACL rules name them
	keys   bool     // keys with our prefix are denied, whatever the command
	whole  bool     // MULTI is denied, so nothing else is known
}

// accessOf returns the access of a connection, without running any command: a
// server checks each command that it queues after MULTI, and DISCARD drops them.
func accessOf(ctx context.Context, client *redis.Client, prefix string) (a access, err error) {
	conn := client.Conn()
	defer func() { _ = conn.Close() }()
	a.user, _ = conn.Do(ctx, "acl", "whoami").Text() // may be denied
	if err := conn.Do(ctx, "multi").Err(); err != nil {
		if !isReply(err) {
			return a, err
		}
		a.whole = true
		return a, nil
	}
	key := prefix + ":{doctor}:probe"
	for line := range strings.Lines(strings.TrimSpace(needed)) {
		words := strings.Fields(line)
		err := conn.Do(ctx, command(words, key)...).Err()
		if err != nil && !isReply(err) {
			return a, err
		}
		if !redis.HasErrorPrefix(err, "NOPERM") {
			continue
		}
		if strings.Contains(err.Error(), "key") && !strings.Contains(err.Error(), "command") {
			a.keys = true
			continue
		}
		a.denied = append(a.denied, rule(words))
	}
	a.denied = slices.Compact(a.denied)
	if err := conn.Do(ctx, "discard").Err(); err != nil && !isReply(err) {
		return a, err
	}
	return a, nil
}

func command(words []string, key string) []any {
	if words[0] == "EVAL" {
		return []any{"EVAL", "return 1", 1, key}
	}
	args := make([]any, len(words))
	for i, word := range words {
		args[i] = word
		if word == "K" {
			args[i] = key
		}
	}
	return args
}

// rule returns the name of a command in ACL rules.
func rule(words []string) string {
	name := strings.ToLower(words[0])
	switch name {
	case "xgroup", "xinfo":
		name += "|" + strings.ToLower(words[1])
	}
	return name
}

// userName returns the name of the connection's user, for ACL rules.
func (f *facts) userName() string { return cmp.Or(f.access.user, "USER") }

func (f *facts) allowed() []Finding {
	found := Finding{Found: "user " + f.access.user + " may run all commands that Skidway needs"}
	if f.access.user == "" {
		found.Found = "this user may run all commands that Skidway needs"
	}
	var denied, rules []string
	if f.access.whole {
		denied, rules = []string{"even run MULTI, so what else is denied is not known"}, []string{"+@all -@admin"}
	}
	if f.access.keys {
		denied, rules = append(denied, fmt.Sprintf("use keys that start with %s:", f.prefix)), append(rules, "~"+f.prefix+":*")
	}
	if len(f.access.denied) > 0 {
		denied = append(denied, "run "+strings.Join(f.access.denied, ", "))
		rules = append(rules, "+"+strings.Join(f.access.denied, " +"))
	}
	if len(denied) > 0 {
		found.Level, found.Found = Problem, "this user may not "+strings.Join(denied, ", nor ")
		found.Why = "some or all of Skidway fails, perhaps in the middle of its work"
		found.Change = []string{
			fmt.Sprintf("redis-cli ACL SETUSER %s %s", f.userName(), strings.Join(rules, " ")),
			"redis-cli ACL SAVE (or the same rules in the ACL file)",
		}
	}
	return []Finding{found}
}

func (f *facts) tracking() []Finding {
	if f.untracked == nil {
		return []Finding{{Found: "workers of many queues are told of new jobs by CLIENT TRACKING"}}
	}
	return []Finding{{
		Level: Warning,
		Found: "CLIENT TRACKING is not possible: " + f.untracked.Error(),
		Why: "a worker of more than 50 queues (on a Cluster: of more than one on a server) starts new jobs up to 5 s later, " +
			"and Redis sends the args of each new job to all idle workers of its queue",
		Change: []string{
			fmt.Sprintf("redis-cli ACL SETUSER %s +subscribe +ping +client|id +client|tracking &__redis__:invalidate", f.userName()),
			"behind a proxy that does not support it: connect to Redis itself",
		},
	}}
}
