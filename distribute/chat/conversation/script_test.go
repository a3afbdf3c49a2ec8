package conversation

import (
	"testing"

	"skidway/distribute/chat/internal/chattest"
)

func TestScriptsOfConversations(t *testing.T) {
	type (
		script = chattest.Script
		c      = chattest.Case
	)
	const gone = "DEL $1 $2"
	chattest.Suite{
		Keys: func(prefix string) []string { return keysOf(prefix).All("ann/bob") },
		Fixture: []string{ // ann is the first of the pair
			"HSET $1 v 1 last 3 oldest 1 listed 1 at 1700000000000 sent1 2 sent2 1",
			"XADD $2 1-0 sender ann body one time 1700000000000 sent1 1 sent2 0",
			"XADD $2 2-0 sender bob body two time 1700000000000 sent1 1 sent2 1",
			"XADD $2 3-0 sender ann body six time 1700000000000 sent1 2 sent2 1",
		},
		Newer: []string{"HSET $1 v 2"},
		Scripts: []script{
			{
				Name: "send", Run: sendScript.Do, Missing: "ok unlisted *",
				Case: c{Args: "1 0 9 9 ann hi '' ''", Want: "ok sent 4 1", Again: "ok sent 5 1", Twice: true, Then: []string{
					"HMGET $1 last sent1 sent2 cursor1 = 4 3 1 0", "HGET $1 at > 1700000000000"}},
				Cases: []c{
					{Name: "lists were not written", Given: []string{"HDEL $1 listed"}, Want: "ok unlisted *", Same: true},
					{Name: "lists were written long ago", Given: []string{gone}, Args: "1 1700000000000 9 9 ann hi '' ''", Want: "ok unlisted *", Same: true},
					{Name: "lists were just written", Given: []string{gone}, Args: "1 9999999999999 9 9 ann hi '' ''", Want: "ok sent 1 1", Again: "ok sent 2 1", Twice: true, Then: []string{
						"HMGET $1 v listed last sent1 cursor1 = 1 1 1 1 1", "PTTL $1 = -1"}},
					{Name: "too many wait for the receiver", Args: "1 0 9 2 ann hi '' ''", Want: "ok full 2", Same: true},
					{Name: "too many kept for the sender", Args: "1 0 0 3 ann hi '' ''", Want: "ok unread 3", Same: true},
					{Name: "just not too many kept for the sender", Args: "1 0 1 3 ann hi '' ''", Want: "ok sent 4 1", Again: "ok full 3", Then: []string{"XLEN $2 = 4"}},
					{Name: "receiver is present", Given: []string{"HSET $1 here2 9999999999999"}, Want: "ok sent 4 0", Again: "ok sent 5 0", Twice: true},
					{Name: "sender has read all", Given: []string{"HSET $1 cursor1 2 read1 1"}, Want: "ok sent 4 1", Again: "ok sent 5 1", Twice: true, Then: []string{"HMGET $1 cursor1 read1 = 4 1"}},
					{Name: "drops what both have read", Given: []string{"HSET $1 cursor1 2 read1 1 cursor2 1 read2 1"}, Args: "1 0 1 9 ann hi '' ''", Want: "ok sent 4 1", Again: "ok sent 5 1", Twice: true, Then: []string{"XLEN $2 = 3", "HGET $1 oldest = 2"}},
					{Name: "keeps what a lost read may ask for", Given: []string{"HSET $1 cursor1 2 read1 1 cursor2 3 read2 2 reads2 tok␣0␣3␣0␣9999999999999"}, Args: "1 0 1 9 ann hi '' ''", Want: "ok sent 4 1", Again: "ok sent 5 1", Twice: true, Then: []string{"XLEN $2 = 4"}},
					{Name: "after an entry of others", Given: []string{"XADD $2 9-7 a b"}, Want: "ok sent 10 1", Again: "ok sent 11 1", Twice: true},
					{Name: "no id left", Given: []string{"HSET $1 last 9007199254740991"}, Want: "corrupt last 9007199254740991"},
				},
			},
			{
				Name: "read", Run: readScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "2 bob 9 tok", Want: "ok 3 2 0 3 1-0 3-0", Then: []string{"HMGET $1 cursor2 read2 = 3 2"}},
				Cases: []c{
					{Name: "by the first of the pair", Args: "1 ann 9 tok", Want: "ok 3 1 0 3 2-0", Then: []string{"HMGET $1 cursor1 read1 = 3 1"}},
					{Name: "page", Args: "2 bob 1 tok", Want: "ok 3 2 1 1 1-0", Then: []string{"HMGET $1 cursor2 read2 = 1 1"}},
					{Name: "nothing new", Given: []string{"HSET $1 cursor2 3 read2 2"}, Want: "ok 3 0 0 3", Same: true},
					{Name: "repeated", Given: []string{"HSET $1 cursor2 3 read2 2 reads2 tok␣0␣1␣0␣1700000000000"}, Want: "ok 3 2 1 1 1-0", Same: true},
					{Name: "cursor beyond the last", Given: []string{"HSET $1 cursor2 9 read2 9"}, Want: "ok 3 0 0 3", Same: true},
				},
			},
			{
				Name: "peek", Run: peekScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "2 bob 9 0", Want: "ok 3 2 0 3 1-0 3-0", Same: true},
				Cases: []c{
					{Name: "after a message", Args: "2 bob 9 1", Want: "ok 3 2 0 3 3-0", Same: true},
					{Name: "after one before the cursor", Given: []string{"HSET $1 cursor2 1 read2 1"}, Want: "ok 3 1 0 3 3-0", Same: true},
					{Name: "after one that was not sent", Args: "2 bob 9 99", Want: "ok 3 2 0 3 1-0 3-0", Same: true},
					{Name: "page", Args: "2 bob 1 0", Want: "ok 3 2 1 1 1-0", Same: true},
				},
			},
			{
				Name: "ack", Run: ackScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "2 1", Want: "ok 1", Then: []string{"HMGET $1 cursor2 read2 last = 1 1 3"}},
				Cases: []c{
					{Name: "last message", Args: "2 3", Want: "ok 3", Then: []string{"HMGET $1 cursor2 read2 = 3 2"}},
					{Name: "own message", Args: "2 2", Want: "ok 2", Then: []string{"HMGET $1 cursor2 read2 = 2 1"}},
					{Name: "beyond the last", Args: "2 4", Want: "ahead 3"},
					{Name: "before the cursor", Given: []string{"HSET $1 cursor2 3 read2 2"}, Want: "ok 3", Same: true},
					{Name: "entry of others", Given: []string{"XADD $2 9-7 a b"}, Args: "2 9", Want: "ok 9", Then: []string{"HMGET $1 cursor2 read2 last = 9 2 9"}},
				},
			},
			{
				Name: "history", Run: historyScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "1 newest 0 9007199254740991 2", Want: "ok 3 1 3-0 2-0", Same: true},
				Cases: []c{
					{Name: "oldest", Args: "1 oldest 0 9007199254740991 2", Want: "ok 3 1 1-0 2-0", Same: true},
					{Name: "between two messages", Args: "2 newest 1 3 9", Want: "ok 3 2 2-0", Same: true},
				},
			},
			{
				Name: "look", Run: lookScript.Do, Missing: "nochat", Full: true,
				Case: c{Args: "2", Want: "ok 2 3-18446744073709551615 3 1700000000000 0", Same: true},
				Cases: []c{
					{Name: "nothing was sent", Given: []string{"HDEL $1 at"}, Want: "nochat"},
					{Name: "nothing is known, but that may be", Given: []string{gone}, Args: "2 any", Want: "ok 0 0-18446744073709551615 0 0 0", Same: true},
					{Name: "peer is present", Given: []string{"HSET $1 here1 9999999999999 here2 1"}, Want: "ok 2 3-18446744073709551615 3 1700000000000 9999999999999", Same: true},
					{Name: "peer was present", Given: []string{"HSET $1 here1 1700000000000"}, Want: "ok 2 3-18446744073709551615 3 1700000000000 0", Same: true},
					{Name: "entry of others", Given: []string{"XADD $2 9-7 a b"}, Want: "ok 2 9-7 3 1700000000000 0", Same: true},
					{Name: "damaged count", Given: []string{"HSET $1 sent1 -1"}, Want: "corrupt sent1 -1"},
					{Name: "damaged cursor", Given: []string{"HSET $1 cursor2 1.5"}, Want: "corrupt cursor2 1.5"},
				},
			},
			{
				Name: "present", Run: presentScript.Do, Missing: "ok",
				Case: c{Args: "1 60000", Want: "ok", Then: []string{"HGET $1 here1 > 1700000000000", "HMGET $1 last here2 = 3 nil", "PTTL $1 = -1"}},
				Cases: []c{
					{Name: "nothing was sent", Given: []string{gone}, Want: "ok", Then: []string{"HMGET $1 v last = 1 0", "PTTL $1 > 50000"}},
					{Name: "peer stays longer", Given: []string{gone, "HSET $1 v 1 here2 9999999999999"}, Want: "ok", Then: []string{"PTTL $1 > 60000"}},
					{Name: "no longer", Given: []string{"HSET $1 here1 9999999999999 here2 9999999999999"}, Args: "1 0", Want: "ok", Then: []string{"HMGET $1 here1 here2 = nil 9999999999999"}},
				},
			},
			{
				Name: "delete", Run: deleteScript.Do, Missing: "ok", Corrupt: "ok", Full: true,
				Case: c{Args: "1", Want: "ok", Then: []string{
					"EXISTS $2 = 0", "HMGET $1 v last cursor1 cursor2 oldest sent1 = 1 3 3 3 4 nil", "PTTL $1 > 80000000"}},
				Cases: []c{
					{Name: "wrong type", Given: []string{"DEL $1", "SET $1 x"}, Want: "ok", Then: []string{"EXISTS $1 $2 = 0"}},
				},
			},
		},
	}.Test(t)
}
