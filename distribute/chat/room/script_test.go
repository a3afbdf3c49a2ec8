package room

import (
	"strings"
	"testing"

	"skidway/distribute/chat/internal/chattest"
	"skidway/distribute/chat/internal/store"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

func TestScriptsOfRooms(t *testing.T) {
	type (
		script = chattest.Script
		c      = chattest.Case
	)
	const (
		about        = "* 2 2 0 2 1700000000000 ann 3600000 60000 0 9 0 "        // of the fixture
		locked       = "HSET $1 digest 13fbd79c3d390e5d6585a21e11ff5ec1970cff0c" // of the key k
		withoutOwner = "HSET $1 owner ''"
		unknown      = "notinroom"
		forbidden    = "notallowed"
	)
	// What keeps others from changing a room, for a call that ann may make.
	guarded := func(args string, more ...c) []c {
		return append([]c{
			{Name: "not inside", Args: "eve '' " + args, Want: unknown},
			{Name: "presence ended", Given: []string{withoutOwner, "ZADD $3 1 bob"}, Args: "bob '' " + args, Want: unknown},
			{Name: "not the owner", Args: "bob '' " + args, Want: forbidden},
			{Name: "muted where there is no owner", Given: []string{withoutOwner, "ZADD $5 9999999999999 bob"}, Args: "bob '' " + args, Want: "muted 9999999999999"},
			{Name: "muted for good where there is no owner", Given: []string{withoutOwner, "ZADD $5 9007199254740991 bob"}, Args: "bob '' " + args, Want: "muted ''"},
		}, more...)
	}
	wrongKey := func(args string) c {
		return c{Name: "wrong key", Given: []string{locked}, Args: args, Want: "noroom"}
	}
	past := c{Name: "its time has passed", Given: []string{"HSET $1 dies 1700000000000"}, Want: "noroom"}
	chattest.Suite{
		Keys: func(prefix string) []string { return keysOf(prefix).All("r") },
		Fixture: []string{
			"HSET $1 v 1 last 2 trimmed 0 big 0 created 1700000000000 dies 9999999999999 token first owner ann ttl 3600000 presence 60000 max 0 keep 9",
			"XADD $2 1-0 sender ann body one time 1700000000000",
			"XADD $2 2-0 sender bob body two time 1700000000000",
			"ZADD $3 9999999999999 ann 9999999999999 bob",
			"HSET $4 ann ta␣Annie bob tb␣",
		},
		Newer: []string{"HSET $1 v 2"},
		Scripts: []script{
			{
				Name: "create", Run: createScript.Do, Missing: "ok", Newer: "exists", Corrupt: "exists", Full: true,
				Case: c{Given: []string{"DEL $1"}, Args: "second eve 3600000 60000 5 6 abc salt 7", Want: "ok", Then: []string{
					"HMGET $1 v last token owner ttl presence max keep digest salt rounds gone = 1 0 second eve 3600000 60000 5 6 abc salt 7 nil",
					"EXISTS $2 $3 $4 = 0", "PTTL $1 > 3500000"}},
				Cases: []c{
					{Name: "name is taken", Want: "exists"},
					{Name: "created by an earlier call", Args: "first eve 3600000 60000 5 6 abc salt 7", Want: "ok", Same: true},
					{Name: "after a deletion", Given: []string{"DEL $1", "HSET $1 gone tok"}, Want: "ok", Then: []string{"HMGET $1 token gone = second tok"}},
					{Name: "time of the old one has passed", Given: []string{"HSET $1 dies 1700000000000"}, Want: "ok", Then: []string{"HGET $1 token = second"}},
				},
			},
			{
				Name: "enter", Run: enterScript.Do, Missing: "noroom",
				Case: c{Args: "eve '' Evie te", Want: "ok", Then: []string{
					"ZSCORE $3 eve > 1700000000000", "HGET $4 eve = te␣Evie", "PEXPIRETIME $3 = 9999999999999"}},
				Cases: []c{
					wrongKey("eve wrong Evie te"), past,
					{Name: "right key", Given: []string{locked}, Args: "eve k Evie te", Want: "ok", Then: []string{"ZSCORE $3 eve > 1700000000000"}},
					{Name: "id is taken", Args: "ann '' Annie te", Want: "taken"},
					{Name: "entered by an earlier call", Args: "ann '' Annie ta", Want: "ok", Same: true},
					{Name: "presence of the id ended", Given: []string{"ZADD $3 1700000000000 ann"}, Args: "ann '' '' te", Want: "ok", Then: []string{"HGET $4 ann = te␣"}},
					{Name: "as many as may be", Given: []string{"HSET $1 max 2"}, Want: "full"},
					{Name: "one less than may be", Given: []string{"HSET $1 max 3"}, Want: "ok"},
					{Name: "presence of others ended", Given: []string{"HSET $1 max 2", "ZADD $3 1700000000000 bob"}, Want: "ok", Then: []string{"ZSCORE $3 bob = nil", "HGET $4 bob = nil"}},
					{Name: "deleted", Given: []string{"HDEL $1 v", "HSET $1 gone tok"}, Want: "noroom"},
				},
			},
			{
				Name: "leave", Run: leaveScript.Do, Missing: "noroom", Full: true,
				Case: c{Args: "bob ''", Want: "ok", Then: []string{"ZSCORE $3 bob = nil", "HGET $4 bob = nil"}},
				Cases: []c{
					wrongKey("bob ''"), past,
					{Name: "not inside", Args: "eve ''", Want: "ok", Same: true},
				},
			},
			{
				Name: "send", Run: sendScript.Do, Missing: "noroom",
				Case: c{Args: "bob '' hi '' ''", Want: "ok 3", Again: "ok 4", Twice: true, Then: []string{
					"HMGET $1 last big = 3 0", "PTTL $1 > 3500000", "PTTL $1 < 3600001", "PTTL $2 < 3600001"}},
				Cases: []c{
					wrongKey("bob wrong hi '' ''"), past,
					{Name: "not inside", Args: "eve '' hi '' ''", Want: unknown},
					{Name: "operator", Args: "'' '' hi '' ''", Want: unknown},
					{Name: "presence ended", Given: []string{"ZADD $3 1700000000000 bob"}, Want: unknown},
					{Name: "muted", Given: []string{"ZADD $5 9999999999999 bob"}, Want: "muted 9999999999999"},
					{Name: "muted for good", Given: []string{"ZADD $5 9007199254740991 bob"}, Want: "muted ''"},
					{Name: "mute has ended", Given: []string{"ZADD $5 1700000000000 bob"}, Want: "ok 3", Again: "ok 4", Twice: true},
					{Name: "keeps the newest", Given: []string{"HSET $1 keep 2"}, Want: "ok 3", Again: "ok 4", Twice: true, Then: []string{"XLEN $2 = 2", "HGET $1 trimmed = 1"}},
					{Name: "after an entry of others", Given: []string{"XADD $2 9-7 a b"}, Want: "ok 10", Again: "ok 11", Twice: true},
					{Name: "no id left", Given: []string{"HSET $1 last 9007199254740991"}, Want: "corrupt last 9007199254740991"},
				},
			},
			{
				Name: "read", Run: readScript.Do, Missing: "noroom", Full: true,
				Case: c{Args: "bob '' after 0 9", Want: "ok " + about + "0 1-0 2-0 ''", Then: []string{"ZSCORE $3 bob > 1700000000000"}},
				Cases: []c{
					wrongKey("bob wrong after 0 9"), past,
					{Name: "not inside", Args: "eve '' after 0 9", Want: unknown},
					{Name: "operator", Args: "'' '' after 0 9", Want: unknown},
					{Name: "page", Args: "bob '' after 0 1", Want: "ok " + about + "1 1-0 ''"},
					{Name: "newest", Args: "bob '' before 0 1", Want: "ok " + about + "1 2-0 ''"},
					{Name: "before a position", Args: "bob '' before 2 9", Want: "ok " + about + "0 1-0 ''"},
					{Name: "beyond the last", Args: "bob '' after 3 9", Want: "ahead 2"},
					{Name: "entry of others", Given: []string{"XADD $2 9-7 a b"}, Args: "bob '' after 9 9", Want: "ok * 2 9 0 3 1700000000000 ann 3600000 60000 0 9 0 0 ''", Then: []string{"HGET $1 last = 9"}},
					{Name: "entry beyond all ids", Given: []string{"XADD $2 9007199254740992-0 a b"}, Want: "ok * 2 2 0 3 1700000000000 ann 3600000 60000 0 9 0 0 1-0 2-0 9007199254740992-0"},
					{Name: "muted", Given: []string{"ZADD $5 9007199254740991 bob"}, Want: "ok " + about + "bob '' 0 1-0 2-0 ''"},
				},
			},
			{
				Name: "info", Run: infoScript.Do, Missing: "noroom", Full: true,
				Case: c{Args: "bob ''", Want: "ok " + about, Same: true},
				Cases: []c{
					wrongKey("bob wrong"), past,
					{Name: "not inside", Args: "eve ''", Want: unknown},
					{Name: "owner outside", Given: []string{"ZREM $3 ann"}, Args: "ann ''", Want: "ok * 1 2 0 2 1700000000000 ann 3600000 60000 0 9 0", Same: true},
					{Name: "operator", Args: "'' ''", Want: "ok " + about, Same: true},
					{Name: "damaged number", Given: []string{"HSET $1 keep -1"}, Want: "corrupt keep -1"},
					{Name: "damaged time with a wrong key", Given: []string{locked, "HSET $1 keep -1"}, Want: "noroom"},
				},
			},
			{
				Name: "people", Run: peopleScript.Do, Missing: "noroom", Full: true,
				Case: c{Args: "bob '' 3 0", Want: "ok 0 ann 9999999999999 Annie 0 bob 9999999999999 '' 0", Same: true},
				Cases: []c{
					wrongKey("bob wrong 3 0"), past,
					{Name: "not inside", Args: "eve '' 3 0", Want: unknown},
					{Name: "muted", Given: []string{"ZADD $5 9007199254740991 eve 1700000000000 bob"}, Args: "'' '' 5 0", Want: "ok 0 bob 9999999999999 '' 0 eve 0 '' ''", Same: true},
				},
			},
			{
				Name: "set", Run: setScript.Do, Missing: "noroom",
				Case: c{Args: "ann '' tok keep 1 max 5", Want: "ok", Then: []string{"HMGET $1 keep max changed = 1 5 tok", "XLEN $2 = 1"}},
				Cases: guarded("tok keep 1", wrongKey("ann wrong tok keep 1"), past,
					c{Name: "changed by an earlier call", Given: []string{"HSET $1 changed tok owner zoe"}, Want: "ok", Same: true},
					c{Name: "operator", Args: "'' '' tok keep 1", Want: "ok", Then: []string{"HGET $1 keep = 1"}},
					c{Name: "time to live", Args: "ann '' tok ttl 60000", Want: "ok", Then: []string{"HGET $1 ttl = 60000", "PTTL $1 < 60001", "PTTL $2 < 60001", "HGET $1 dies < 9999999999999"}},
					c{Name: "password", Args: "ann '' tok digest abc", Want: "ok", Then: []string{"ZRANGE $3 0 -1 = ann", "HGETALL $4 = ann ta␣Annie", "HGET $1 digest = abc"}},
					c{Name: "no password", Args: "ann '' tok digest ''", Want: "ok", Then: []string{"ZCARD $3 = 2"}}),
			},
			{
				Name: "mute", Run: muteScript.Do, Missing: "noroom",
				Case: c{Args: "ann '' bob 60000", Want: "ok", Then: []string{"ZSCORE $5 bob > 1700000000000", "PEXPIRETIME $5 = 9999999999999"}},
				Cases: guarded("ann 0", wrongKey("ann wrong bob 0"), past,
					c{Name: "for good", Args: "ann '' bob 0", Want: "ok", Then: []string{"ZSCORE $5 bob = 9007199254740991"}},
					c{Name: "no longer", Given: []string{"ZADD $5 9999999999999 bob"}, Args: "ann '' bob ''", Want: "ok", Then: []string{"EXISTS $5 = 0"}},
					c{Name: "more than are remembered", Given: []string{"EVAL for␣i=1,10000␣do␣redis.call('ZADD',KEYS[1],9999999999999,i)␣end 1 $5"}, Want: "full"},
					c{Name: "forgets those that ended", Given: []string{"ZADD $5 1700000000000 eve"}, Want: "ok", Then: []string{"ZRANGE $5 0 -1 = bob"}}),
			},
			{
				Name: "retract", Run: retractScript.Do, Missing: "noroom",
				Case: c{Args: "ann '' 2", Want: "ok", Then: []string{"XRANGE $2 - + = 1-0 3-0", "HGET $1 last = 3"}},
				Cases: []c{
					wrongKey("ann wrong 2"), past,
					{Name: "not inside", Args: "eve '' 2", Want: unknown},
					{Name: "not inside any more", Given: []string{"ZREM $3 bob"}, Args: "bob '' 2", Want: unknown},
					{Name: "not the owner", Args: "bob '' 1", Want: forbidden},
					{Name: "own message", Args: "bob '' 2", Want: "ok", Then: []string{"HGET $1 last = 3"}},
					{Name: "others' message where there is no owner", Given: []string{withoutOwner}, Args: "bob '' 1", Want: "ok", Then: []string{"HGET $1 last = 3"}},
					{Name: "never sent", Args: "ann '' 3", Want: "nomessage"},
					{Name: "no id", Args: "ann '' 0", Want: "nomessage"},
					{Name: "notice", Given: []string{"XADD $2 3-0 retracts 1 by ann time 1700000000000", "HSET $1 last 3"}, Args: "ann '' 3", Want: "nomessage"},
					{Name: "gone", Given: []string{"XDEL $2 1-0"}, Args: "ann '' 1", Want: "ok", Same: true},
					{Name: "no id left", Given: []string{"HSET $1 last 9007199254740991"}, Want: "corrupt last 9007199254740991"},
				},
			},
			{
				Name: "delete", Run: deleteScript.Do, Missing: "noroom", Full: true,
				Case: c{Args: "ann '' tok", Want: "ok", Then: []string{"EXISTS $2 $3 $4 $5 = 0", "HGETALL $1 = gone tok", "PTTL $1 > 50000"}},
				Cases: guarded("tok", wrongKey("ann wrong tok"), past,
					c{Name: "deleted by an earlier call", Given: []string{"HSET $1 gone tok"}, Want: "ok", Same: true},
					c{Name: "operator", Args: "'' '' tok", Want: "ok", Then: []string{"EXISTS $2 = 0"}},
					c{Name: "corrupt, by an operator", Given: []string{"HSET $1 v x"}, Args: "'' '' tok", Want: "ok", Then: []string{"EXISTS $2 = 0"}},
					c{Name: "newer, by an operator", Given: []string{"HSET $1 v 2"}, Args: "'' '' tok", Want: "newer 2"},
					c{Name: "wrong type", Given: []string{"DEL $1", "SET $1 x"}, Want: "corrupt type string"},
					c{Name: "wrong type, by an operator", Given: []string{"DEL $1", "SET $1 x"}, Args: "'' '' tok", Want: "ok", Then: []string{"HGETALL $1 = gone tok"}}),
			},
		},
	}.Test(t)
}

// NewStretching is New with another slow hash.
func NewStretching(db *rdb.DB, hash func(password string, salt []byte, rounds int) ([]byte, error)) *Client {
	r := NewClient(handle.New(db))
	r.kdf = hash
	return r
}

func FuzzRetraction(f *testing.F) {
	f.Add("retracts=7\x00by=ann\x00time=1763700000000")
	f.Add("retracts=-1\x00by=\x00time=1")
	f.Add("retracts=1\x00by=a\nb\x00time=soon")
	f.Add("")
	f.Fuzz(func(t *testing.T, fields string) {
		var raw []any
		for field := range strings.SplitSeq(fields, "\x00") {
			name, value, _ := strings.Cut(field, "=")
			raw = append(raw, name, value)
		}
		entries := []any{[]any{"9-0", append([]any{"retracts", "x"}, raw...)}}
		got := parsePage(rdb.Reply{Values: []any{nil, int64(0), entries}}, HistoryOptions{Forward: true})
		if len(got.Messages)+len(got.Changes) != 1 || got.Position != 9 || got.First != 9 {
			t.Fatalf("got %+v", got)
		}
		if len(got.Messages) == 1 && got.Messages[0].Err == nil {
			t.Errorf("took %q for a message", fields)
		}
		if len(got.Changes) == 1 && (got.Changes[0].Message > store.LastExact || got.Changes[0].Time.UnixMilli() < 0) {
			t.Errorf("accepted %q as %+v", fields, got.Changes[0])
		}
	})
}
