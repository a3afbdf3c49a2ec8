package group

import (
	"testing"

	"skidway/distribute/chat/internal/chattest"
)

func TestScriptsOfGroups(t *testing.T) {
	type (
		script = chattest.Script
		c      = chattest.Case
	)
	// More messages than a call drops, of which one may stay.
	crowded := []string{
		"EVAL for␣i=4,520␣do␣redis.call('XADD',KEYS[1],i..'-0','sender','bob','body','x','time','1700000000000','before','0')␣end 1 $2",
		"HSET $1 last 520 limits 1␣0␣0␣0",
	}
	stranger := func(args string) c { return c{Name: "not a member", Args: args, Want: "notmember"} }
	chattest.Suite{
		Keys: func(prefix string) []string { return keysOf(prefix).All("c") },
		Fixture: []string{
			"HSET $1 v 1 kind people last 3 oldest 1 created 1700000000000 token first sent 18",
			"XADD $2 1-0 sender bob body one time 1700000000000 before 0",
			"XADD $2 2-0 sender bob body two time 1700000000000 before 6",
			"XADD $2 3-0 sender bob body six time 1700000000000 before 12",
			"ZADD $3 0 ann 3 bob",
			"ZADD $4 1700000000000 ann 1700000000000 bob",
		},
		Newer: []string{"HSET $1 v 2"},
		Scripts: []script{
			{
				Name: "create", Run: createScript.Do, Missing: "ok 0", Newer: "exists", Corrupt: "exists", Full: true,
				Case: c{Given: []string{"DEL $1"}, Args: "channel second 5␣0␣0␣0 eve", Want: "ok 0", Then: []string{
					"HMGET $1 v kind last oldest token limits = 1 channel 0 1 second 5␣0␣0␣0",
					"EXISTS $2 = 0", "ZRANGE $3 0 -1 WITHSCORES = eve 0", "ZSCORE $4 eve > 0"}},
				Cases: []c{
					{Name: "id is taken", Want: "exists"},
					{Name: "created by an earlier call", Args: "people first '' ann", Want: "ok 0", Same: true},
				},
			},
			{
				Name: "join", Run: joinScript.Do, Missing: "nochat",
				Case: c{Args: "eve oldest", Want: "ok 0", Then: []string{"ZSCORE $3 eve = 0", "ZSCORE $4 eve > 1700000000000"}},
				Cases: []c{
					{Name: "from now", Args: "eve now", Want: "ok 0", Then: []string{"ZSCORE $3 eve = 3"}},
					{Name: "from the oldest kept", Given: []string{"XTRIM $2 MINID 3-0", "HSET $1 oldest 3"}, Want: "ok 0", Then: []string{"ZSCORE $3 eve = 2"}},
					{Name: "more to drop first", Given: crowded, Want: "ok 1", Again: "ok 0", Twice: true, Then: []string{"ZSCORE $3 eve = nil", "HGET $1 oldest = 501"}},
					{Name: "member already", Args: "bob oldest", Want: "ok 0", Same: true},
				},
			},
			{
				Name: "leave", Run: leaveScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "ann", Want: "ok 0", Then: []string{"ZSCORE $3 ann = nil", "ZSCORE $4 ann = nil", "XLEN $2 = 0"}},
				Cases: []c{
					{Name: "last one", Given: []string{"ZREM $3 bob"}, Want: "ok 0", Again: "nochat", Then: []string{"EXISTS $1 $2 $3 $4 = 0"}},
					{Name: "last one of a channel", Given: []string{"ZREM $3 bob", "HSET $1 kind channel"}, Want: "ok 0", Then: []string{"XLEN $2 = 3"}},
					{Name: "not a member", Args: "eve", Want: "ok 0", Same: true},
				},
			},
			{
				Name: "send", Run: sendScript.Do, Missing: "nochat",
				Case: c{Args: "bob hi '' ''", Want: "ok 0 4", Again: "ok 0 5", Twice: true, Then: []string{
					"HMGET $1 last sent big = 4 23 nil", "ZSCORE $3 bob = 4"}},
				Cases: []c{
					stranger("eve hi '' ''"),
					{Name: "stranger in a channel", Given: []string{"HSET $1 kind channel"}, Args: "eve hi '' ''", Want: "ok 0 4", Again: "ok 0 5", Twice: true},
					{Name: "sender has unread messages", Args: "ann hi '' ''", Want: "ok 0 4", Again: "ok 0 5", Twice: true, Then: []string{"ZSCORE $3 ann = 0"}},
					{Name: "after an entry of others", Given: []string{"XADD $2 9-7 a b"}, Want: "ok 0 10", Again: "ok 0 11", Twice: true},
					{Name: "no id left", Given: []string{"HSET $1 last 9007199254740991"}, Args: "ann hi '' ''", Want: "corrupt last 9007199254740991"},
					{Name: "limit of messages", Given: []string{"HSET $1 limits 2␣0␣0␣0"}, Want: "ok 0 4", Again: "ok 0 5", Twice: true, Then: []string{"XLEN $2 = 2", "HGET $1 oldest = 3"}},
					{Name: "limits dropped what the sender had not read", Given: []string{"HSET $1 limits 1␣0␣0␣0"}, Args: "ann hi '' ''", Want: "ok 0 4", Again: "ok 0 5", Twice: true, Then: []string{"ZSCORE $3 ann = 4", "XLEN $2 = 1"}},
					{Name: "limit of bytes", Given: []string{"HSET $1 limits 0␣11␣0␣0"}, Want: "ok 0 4", Again: "ok 0 5", Twice: true, Then: []string{"XLEN $2 = 2"}},
				},
			},
			{
				Name: "cursor", Run: cursorScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "ann 1", Want: "ok 0 0 3 1 people", Then: []string{"ZSCORE $4 ann > 1700000000000"}},
				Cases: []c{
					stranger("eve 1"),
					{Name: "after a message", Args: "ann 1 2", Want: "ok 0 2 3 1 people"},
					{Name: "after one of an earlier chat", Args: "ann 1 4", Want: "ok 0 0 3 1 people"},
					{Name: "asked by others", Args: "ann 0", Want: "ok 0 0 3 1 people", Then: []string{"ZSCORE $4 ann = 1700000000000"}},
					{Name: "not a member, asked by others", Args: "eve 0", Want: "notmember"},
					{Name: "away for too long", Given: []string{"HSET $1 limits 0␣0␣0␣60000", "ZADD $4 9999999999999 bob"}, Want: "notmember", Then: []string{"ZCARD $3 = 1", "ZCARD $4 = 1"}},
				},
			},
			{
				Name: "pending", Run: pendingScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "ann 2 0", Want: "ok 0 0 1-0 2-0", Then: []string{"ZSCORE $4 ann > 1700000000000"}},
				Cases: []c{
					stranger("eve 2 0"),
					{Name: "after a message", Args: "ann 2 2", Want: "ok 0 2 3-0"},
					{Name: "after one before the cursor", Args: "bob 2 1", Want: "ok 0 3"},
					{Name: "after one of an earlier chat", Args: "ann 2 4", Want: "ok 0 0 1-0 2-0"},
					{Name: "big messages", Given: []string{"HSET $1 big 3"}, Want: "ok 0 0"},
					{Name: "too old", Given: []string{"HSET $1 limits 0␣0␣1␣0"}, Want: "ok 0 0", Then: []string{"XLEN $2 = 0"}},
				},
			},
			{
				Name: "ack", Run: ackScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "ann 2", Want: "ok 0 2", Then: []string{"ZSCORE $3 ann = 2", "XLEN $2 = 1", "HGET $1 oldest = 3"}},
				Cases: []c{
					stranger("eve 2"),
					{Name: "beyond the last", Args: "ann 4", Want: "ahead 3"},
					{Name: "before the cursor", Args: "bob 1", Want: "ok 0 3", Same: true},
					{Name: "entry of others", Given: []string{"XADD $2 9-7 a b"}, Args: "ann 9", Want: "ok 0 9", Then: []string{"HGET $1 last = 9"}},
				},
			},
			{
				Name: "members", Run: membersScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "0", Want: "ok 0 3 1 0 ann 0 1700000000000 bob 3 1700000000000", Same: true},
				Cases: []c{
					{Name: "more to drop first", Given: crowded, Want: "ok 1 520 501", Again: "ok 0 520 520 0 ann 0 1700000000000 bob 3 1700000000000", Twice: true},
					{Name: "not noted as here", Given: []string{"DEL $4"}, Want: "ok 0 3 1 0 ann 0 0 bob 3 0", Same: true},
				},
			},
			{
				Name: "info", Run: infoScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "", Want: "ok 0 people 3 1700000000000 3 2 1 18 ''", Same: true},
				Cases: []c{
					{Name: "no messages", Given: []string{"XTRIM $2 MAXLEN 0", "HSET $1 oldest 4"}, Want: "ok 0 people 3 1700000000000 0 2 0 0 ''", Same: true},
					{Name: "unknown kind", Given: []string{"HSET $1 kind party"}, Want: "corrupt kind party"},
					{Name: "last is no number", Given: []string{"HSET $1 last many"}, Want: "corrupt last many"},
					{Name: "limits are none", Given: []string{"HSET $1 limits many"}, Want: "corrupt limits many"},
					{Name: "all are away for too long", Given: []string{"HSET $1 limits 0␣0␣0␣60000"}, Want: "ok 0 people 3 1700000000000 3 2 1 18 0␣0␣0␣60000", Then: []string{"HGET $1 grace > 1700000060000"}},
					{Name: "none has come back", Given: []string{"HSET $1 limits 0␣0␣0␣60000 grace 1700000060001"}, Want: "nochat", Then: []string{"EXISTS $1 $2 $3 $4 = 0"}},
					{Name: "one had come back", Given: []string{"HSET $1 limits 0␣0␣0␣60000 grace 1700000060000"}, Want: "ok 0 people 3 1700000000000 3 2 1 18 0␣0␣0␣60000", Then: []string{"HGET $1 grace > 1700000060000"}},
					{Name: "the clock went back", Given: []string{"HSET $1 limits 0␣0␣0␣60000 grace 9700000060000"}, Want: "ok 0 people 3 1700000000000 3 2 1 18 0␣0␣0␣60000", Then: []string{"HGET $1 grace < 9700000060000"}},
				},
			},
			{
				Name: "set_limits", Run: setLimitsScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "1␣0␣0␣0", Want: "ok 0 1", Then: []string{"HGET $1 limits = 1␣0␣0␣0", "XLEN $2 = 1", "HGET $1 oldest = 3"}},
				Cases: []c{
					{Name: "none", Given: []string{"HSET $1 limits 9␣0␣0␣0"}, Args: "''", Want: "ok 0 1", Then: []string{"HGET $1 limits = nil"}},
					{Name: "one is away for too long", Given: []string{"ZADD $4 9999999999999 bob"}, Args: "0␣0␣0␣60000", Want: "ok 0 1", Then: []string{"ZCARD $3 = 1", "XLEN $2 = 0"}},
					{Name: "all are away for too long", Args: "0␣0␣0␣60000", Want: "ok 0 1", Then: []string{"HGET $1 grace > 1700000060000", "ZCARD $3 = 2"}},
					{Name: "as expected", Given: []string{"HSET $1 limits 9␣0␣0␣0"}, Args: "1␣0␣0␣0 9␣0␣0␣0", Want: "ok 0 1"},
					{Name: "set before", Given: []string{"HSET $1 limits 1␣0␣0␣0"}, Args: "1␣0␣0␣0 ''", Want: "ok 0 1"},
					{Name: "other limits than expected", Given: []string{"HSET $1 limits 9␣0␣0␣0"}, Args: "1␣0␣0␣0 ''", Want: "ok 0 0", Same: true},
				},
			},
			{
				Name: "delete", Run: deleteScript.Do, Missing: "ok 0", Corrupt: "ok 0", Full: true,
				Case: c{Args: "", Want: "ok 0", Then: []string{"EXISTS $1 $2 $3 $4 = 0"}},
				Cases: []c{
					{Name: "wrong type", Given: []string{"DEL $1", "SET $1 x"}, Want: "ok 0", Then: []string{"EXISTS $1 $2 $3 $4 = 0"}},
				},
			},
		},
	}.Test(t)
}
