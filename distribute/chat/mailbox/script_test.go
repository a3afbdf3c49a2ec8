package mailbox

import (
	"strings"
	"testing"

	"skidway/distribute/chat/internal/chattest"
)

func TestScriptsOfMailboxes(t *testing.T) {
	type (
		script = chattest.Script
		c      = chattest.Case
	)
	taking := c{Args: "'' 1 9", Want: "ok 1", Again: "ok", Then: []string{
		"XLEN $2 = 2", "HGET $1 held = 2000", "HGET $1 seen > 1700000000000"}}
	takings := []c{
		{Name: "of this box", Args: "1700000000000000 2 3", Want: "ok 2 3", Again: "ok", Then: []string{
			"XLEN $2 = 1", "ZCARD $4 = 0", "HGET $1 held = 0"}},
		{Name: "of an earlier box of this name", Args: "1600000000000000 1", Want: "ok", Same: true},
		{Name: "entry of others", Given: []string{"XADD $2 9-7 a b"}, Args: "'' 9", Want: "ok 9", Again: "ok", Then: []string{"XLEN $2 = 3"}},
	}
	chattest.Suite{
		Keys: func(prefix string) []string { return keysOf(prefix).All("bob") },
		Fixture: []string{ // the third message is a big one
			"HSET $1 v 1 last 3 born 1700000000000000 held 2000",
			"XADD $2 1-0 sender ann body one time 1700000000000",
			"XADD $2 2-0 sender ann body two time 1700000000000",
			"XADD $2 3-0 sender ann body big time 1700000000000",
			"ZADD $4 3 3-2000",
		},
		Newer: []string{"HSET $1 v 2"},
		Scripts: []script{
			{
				Name: "send", Run: sendScript.Do,
				Case: c{Args: "ann hi '' ''", Want: "ok 4", Again: "ok 5", Twice: true, Then: []string{
					"HMGET $1 last held = 4 2000", "ZCARD $4 = 1", "PTTL $1 = -1"}},
				Cases: []c{
					{Name: "first message", Given: []string{"DEL $1 $2 $4"}, Want: "ok 1", Again: "ok 2", Twice: true, Then: []string{"HGET $1 v = 1", "HGET $1 born > 1700000000000000"}},
					{Name: "big message", Args: "ann " + strings.Repeat("x", 1025) + " '' ''", Want: "ok 4", Again: "ok 5", Twice: true, Then: []string{"ZRANGE $4 0 -1 = 3-2000 4-1025", "HGET $1 held = 3025"}},
					{Name: "as many messages as may wait", Given: []string{"HSET $1 messages 3"}, Want: "boxfull 3 4048 ''"},
					{Name: "as many bytes as may wait", Given: []string{"HSET $1 bytes 5071 seen 1700000000000"}, Want: "boxfull 3 4048 1700000000000"},
					{Name: "just as many bytes as may wait", Given: []string{"HSET $1 bytes 5072"}, Want: "ok 4", Again: "boxfull 4 5072 ''", Then: []string{"XLEN $2 = 4"}},
					{Name: "drops the oldest", Given: []string{"HSET $1 messages 3 full drop-oldest"}, Want: "ok 4", Again: "ok 5", Twice: true, Then: []string{"XLEN $2 = 3", "ZRANGE $3 0 -1 WITHSCORES = 1 1"}},
					{Name: "expires when idle", Given: []string{"HSET $1 idle 60000"}, Want: "ok 4", Again: "ok 5", Twice: true, Then: []string{"PTTL $1 > 0", "PTTL $2 > 0", "PTTL $4 > 0"}},
					{Name: "after an entry of others", Given: []string{"XADD $2 9-7 a b"}, Want: "ok 10", Again: "ok 11", Twice: true},
					{Name: "no id left", Given: []string{"HSET $1 last 9007199254740991"}, Want: "corrupt last 9007199254740991"},
					{Name: "last is no number", Given: []string{"HSET $1 last many"}, Want: "corrupt last many"},
				},
			},
			{
				Name: "visit", Run: visitScript.Do, Missing: "ok 0 0 0 '' 0", Full: true,
				Case: c{Args: "0", Want: "ok 3 1 1 1700000000000000 0", Then: []string{"HGET $1 seen > 1700000000000"}},
				Cases: []c{
					{Name: "behind the big one", Args: "3", Want: "ok 3 0 0 1700000000000000 3"},
					{Name: "nothing big", Given: []string{"DEL $4", "XDEL $2 3-0"}, Args: "1", Want: "ok 3 1 0 1700000000000000 1"},
					{Name: "position of an earlier box", Args: "4", Want: "ok 3 1 1 1700000000000000 0"},
					{Name: "position of an entry of others", Given: []string{"XADD $2 9-7 a b", "XDEL $2 9-7"}, Args: "9", Want: "ok 3 0 0 1700000000000000 9"},
					{Name: "log emptied by hand", Given: []string{"DEL $2"}, Want: "ok 3 0 0 1700000000000000 0", Then: []string{"EXISTS $4 = 0"}},
				},
			},
			{
				Name: "ack", Run: ackScript.Do, Missing: "ok", Full: true,
				Case: taking, Cases: takings,
			},
			{
				Name: "take", Run: takeScript.Do, Missing: "ok", Full: true,
				Case: taking, Cases: takings,
			},
			{
				Name: "status", Run: statusScript.Do, Missing: "ok notsent", Full: true,
				Case: c{Args: "1", Want: "ok unread", Same: true},
				Cases: []c{
					{Name: "never sent", Args: "4", Want: "ok notsent", Same: true},
					{Name: "no id", Args: "0", Want: "ok notsent", Same: true},
					{Name: "read", Given: []string{"XDEL $2 1-0"}, Want: "ok read", Same: true},
					{Name: "dropped", Given: []string{"XDEL $2 1-0", "ZADD $3 1 1"}, Want: "ok dropped", Same: true},
					{Name: "forgotten", Given: []string{"XDEL $2 1-0", "HSET $1 forgotten 1"}, Want: "ok gone", Same: true},
					{Name: "after the forgotten", Given: []string{"XDEL $2 2-0", "HSET $1 forgotten 1"}, Args: "2", Want: "ok read", Same: true},
				},
			},
			{
				Name: "info", Run: infoScript.Do, Missing: "ok 0 0 0 '' 10000 67108864 refuse 0", Full: true,
				Case: c{Args: "", Want: "ok 3 4048 3 '' 10000 67108864 refuse 0", Same: true},
				Cases: []c{
					{Name: "limits", Given: []string{"HSET $1 seen 1700000000000 messages 5 bytes 6 full drop-oldest idle 7"}, Want: "ok 3 4048 3 1700000000000 5 6 drop-oldest 7", Same: true},
					{Name: "damaged limits", Given: []string{"HSET $1 messages many bytes -1 full house idle nan"}, Want: "ok 3 4048 3 '' 10000 67108864 refuse 0", Same: true},
				},
			},
			{
				Name: "set_limits", Run: setLimitsScript.Do, Full: true,
				Case: c{Args: "2 5000 refuse 0", Want: "ok 0 1", Then: []string{"HMGET $1 messages bytes full idle = 2 5000 refuse 0", "XLEN $2 = 3"}},
				Cases: []c{
					{Name: "box is new", Given: []string{"DEL $1 $2 $4"}, Want: "ok 0 1", Then: []string{"HMGET $1 v last = 1 0", "HGET $1 born > 1700000000000000"}},
					{Name: "drops the oldest", Args: "2 5000 drop-oldest 0", Want: "ok 0 1", Then: []string{"XLEN $2 = 2", "ZRANGE $3 0 -1 WITHSCORES = 1 1"}},
					{Name: "drops bytes", Args: "9 3000 drop-oldest 0", Want: "ok 0 1", Then: []string{"XLEN $2 = 1", "ZRANGE $3 0 -1 WITHSCORES = 1 1 2 2", "HGET $1 held = 2000"}},
					{Name: "expires when idle", Args: "2 5000 refuse 60000", Want: "ok 0 1", Then: []string{"PTTL $1 > 0", "PTTL $2 > 0"}},
					{Name: "expires no longer", Given: []string{"PEXPIRE $1 60000", "PEXPIRE $2 60000"}, Want: "ok 0 1", Then: []string{"PTTL $1 = -1", "PTTL $2 = -1"}},
					{Name: "as expected", Args: "2 5000 refuse 0 10000 67108864 refuse 0", Want: "ok 0 1"},
					{Name: "set before", Given: []string{"HSET $1 messages 2 bytes 5000"}, Args: "2 5000 refuse 0 10000 67108864 refuse 0", Want: "ok 0 1"},
					{Name: "other limits than expected", Given: []string{"HSET $1 messages 7"}, Args: "2 5000 refuse 0 10000 67108864 refuse 0", Want: "ok 0 0", Same: true},
				},
			},
			{
				Name: "keep", Run: keepScript.Do, Missing: "ok 0", Full: true,
				Case: c{Args: "1", Want: "ok 0", Then: []string{"XLEN $2 = 1", "ZRANGE $3 0 -1 WITHSCORES = 1 1 2 2"}},
				Cases: []c{
					{Name: "all of them", Args: "3", Want: "ok 0", Same: true},
					{Name: "none", Args: "0", Want: "ok 0", Then: []string{"XLEN $2 = 0", "EXISTS $4 = 0", "HGET $1 held = 0"}},
					{Name: "more than are remembered", Given: []string{"EVAL for␣i=1001,2000␣do␣redis.call('ZADD',KEYS[1],i,i)␣end 1 $3"}, Args: "2", Want: "ok 0", Then: []string{"ZCARD $3 = 1000", "HGET $1 forgotten = 1"}},
					{Name: "more than one call drops", Given: []string{"EVAL for␣i=4,60␣do␣redis.call('XADD',KEYS[1],i..'-0','a','b')␣end 1 $2"}, Args: "1", Want: "ok 1", Again: "ok 0", Twice: true, Then: []string{"XLEN $2 = 10"}},
				},
			},
			{
				Name: "delete", Run: deleteScript.Do, Missing: "ok", Corrupt: "ok", Full: true,
				Case: c{Args: "", Want: "ok", Then: []string{"EXISTS $1 $2 $3 $4 = 0"}},
				Cases: []c{
					{Name: "wrong type", Given: []string{"DEL $1", "SET $1 x"}, Want: "ok", Then: []string{"EXISTS $1 $2 $3 $4 = 0"}},
				},
			},
		},
	}.Test(t)
}
