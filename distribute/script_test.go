package distribute

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// These tests call each script by itself. Some checks are made by two scripts,
// such as the owner check of stage and seal: a test of the whole path passes
// while one of them is missing.

// A scriptRunner calls the scripts of one channel as their callers do.
type scriptRunner struct {
	t testing.TB
	c *Channel
	k keys
}

func newScriptRunner(t testing.TB, db *rdb.DB) scriptRunner {
	t.Helper()
	channel, err := Open(t.Context(), handle.New(db), "web")
	if err != nil {
		t.Fatal(err)
	}
	if err := channel.SetWindow(t.Context(), testWindow); err != nil {
		t.Fatal(err)
	}
	return scriptRunner{t, channel, channel.keys}
}

// testWindow is the window of the scripts' channel, in bytes.
const testWindow = 10 << 20

// outOfMemory stands for the answer of a server whose memory is full.
const outOfMemory = "OOM"

// run calls one script and returns its answer as text.
func (s scriptRunner) run(script script, of target, args ...any) string {
	s.t.Helper()
	answer, err := s.c.call(s.t.Context(), script, of, args...)
	if redis.HasErrorPrefix(errors.Unwrap(err), "OOM") {
		return outOfMemory
	}
	if err != nil {
		s.t.Fatal(err)
	}
	if answer.Len() == 1 {
		return withoutTimes(answer.Text(0))
	}
	return withoutTimes(answer.Values)
}

// text is the answer to one Redis command as text, without times.
func (s scriptRunner) text(args ...any) string {
	s.t.Helper()
	value, err := s.c.db.Do(s.t.Context(), args...).Result()
	if err != nil && !errors.Is(err, redis.Nil) {
		s.t.Fatal(err)
	}
	return withoutTimes(value)
}

// do sends commands that bring about a state.
func (s scriptRunner) do(commands ...[]any) {
	s.t.Helper()
	for _, args := range commands {
		s.text(args...)
	}
}

// expire ends a lease.
func (s scriptRunner) expire(leases, member string) {
	s.t.Helper()
	s.do([]any{"ZADD", leases, 1, member})
}

// A time in ms, alone or as the id of an entry of a stream.
var timePattern = regexp.MustCompile(`\b1[0-9]{12}(-[0-9]+)?\b`)

func withoutTimes(value any) string {
	if score, ok := value.(float64); ok {
		value = fmt.Sprintf("%.0f", score)
	}
	return timePattern.ReplaceAllString(fmt.Sprint(value), "TIME")
}

// state is everything in the channel, without times and without the counter by
// which reports notice that counts have moved.
func (s scriptRunner) state() map[string]string {
	s.t.Helper()
	ctx, db := s.t.Context(), s.c.db
	state := map[string]string{}
	for _, key := range db.Keys(ctx, s.k.root+"*").Val() {
		var value any
		switch kind := db.Type(ctx, key).Val(); kind {
		case "string":
			value = db.Get(ctx, key).Val()
		case "hash":
			fields := db.HGetAll(ctx, key).Val()
			delete(fields, "version")
			delete(fields, "folds")
			value = fields
		case "set":
			value = slices.Sorted(slices.Values(db.SMembers(ctx, key).Val()))
		case "zset":
			rows := map[string]string{}
			for _, z := range db.ZRangeWithScores(ctx, key, 0, -1).Val() {
				rows[z.Member.(string)] = fmt.Sprintf("%.0f", z.Score)
			}
			value = rows
		case "stream":
			value = db.XRange(ctx, key, "-", "+").Val()
		default:
			s.t.Fatalf("%s is a %s", key, kind)
		}
		state[key] = withoutTimes(value)
	}
	return state
}

// sameState fails the test where two states differ.
func (s scriptRunner) sameState(what string, got, want map[string]string) {
	s.t.Helper()
	all := maps.Clone(got)
	maps.Copy(all, want)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		if got[key] != want[key] {
			s.t.Errorf("%s: %s is %q, want %q", what, strings.TrimPrefix(key, s.k.root), got[key], want[key])
		}
	}
}

// A scriptCase is one call of a script in some state of the channel.
type scriptCase struct {
	name  string // "SCRIPT: case"
	given func(scriptRunner)
	call  func(scriptRunner) string
	want  string
	again string // the answer to the repeated call; empty: the same
	keeps bool   // the call changes nothing

	// What the call leaves in Redis, if its answer does not show it.
	look func(scriptRunner) string
	sees string
}

// check fails the test where the call left something else than it should.
func (c scriptCase) check(s scriptRunner) {
	s.t.Helper()
	if c.look == nil {
		return
	}
	if got := c.look(s); got != c.sees {
		s.t.Errorf("leaves %s, want %s", got, c.sees)
	}
}

func scriptCases() []scriptCase {
	return slices.Concat(shippingScripts, countingScripts, visitorScripts, importScripts)
}

// The repeated call is the one that follows a lost reply.
func TestScriptRefusesWhatItMustAndCanBeRepeated(t *testing.T) {
	for _, c := range scriptCases() {
		t.Run(c.name, func(t *testing.T) {
			redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
				s := newScriptRunner(t, db)
				c.given(s)
				before := s.state()
				if got := c.call(s); got != c.want {
					t.Errorf("answers %s, want %s", got, c.want)
				}
				c.check(s)
				after := s.state()
				if c.keeps {
					s.sameState("the refused call", after, before)
				} else if maps.Equal(before, after) {
					t.Error("the call changed nothing")
				}
				again := c.want
				if c.again != "" {
					again = c.again
				}
				if got := c.call(s); got != again {
					t.Errorf("repeated, it answers %s, want %s", got, again)
				}
				s.sameState("the repeated call", s.state(), after)
			})
		})
	}
}

func TestEveryScriptHasCases(t *testing.T) {
	t.Parallel()
	tested := map[string]bool{}
	for _, c := range scriptCases() {
		name, _, _ := strings.Cut(c.name, ":")
		tested[name] = true
	}
	for _, name := range rdb.ScriptNames() {
		if file, ours := strings.CutPrefix(name, "distribute/"); ours && !tested[file] {
			t.Errorf("no case calls %s", name)
		}
	}
}

// A script with the flag allow-oom runs to its end, and Redis refuses the first
// command of any other one that may need memory.
func TestScriptWhileMemoryIsFullChangesAllOrNothing(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := newScriptRunner(t, redistest.Open(t, server.URL(0)))
	db := s.c.db
	limit := func(bytes int) {
		t.Helper()
		if err := db.ConfigSet(context.Background(), "maxmemory", fmt.Sprint(bytes)).Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range scriptCases() {
		t.Run(c.name, func(t *testing.T) {
			if err := db.FlushAll(t.Context()).Err(); err != nil {
				t.Fatal(err)
			}
			s := newScriptRunner(t, db)
			c.given(s)
			before := s.state()
			limit(1)
			got := c.call(s)
			limit(0)
			switch got {
			case outOfMemory:
				s.sameState("the call without memory", s.state(), before)
				if got := c.call(s); got != c.want {
					t.Errorf("with memory again it answers %s, want %s", got, c.want)
				}
				c.check(s)
			case c.want:
				if c.keeps {
					s.sameState("the refused call", s.state(), before)
				}
				c.check(s)
			default:
				t.Errorf("answers %s, want %s or %s", got, outOfMemory, c.want)
			}
			if script, _, _ := strings.Cut(c.name, ":"); got == outOfMemory && !needsMemory[script] {
				t.Error("it frees memory, or comes before that, and must work when there is none")
			}
		})
	}
}

// needsMemory lists the scripts that need not work in a full Redis.
var needsMemory = map[string]bool{"admit": true, "book": true, "begin": true, "subscribe": true, "import": true, "importcells": true}

func TestAnotherFormatOfTheChannelIsRefused(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		s := newScriptRunner(t, db)
		for _, version := range []int{formatVersion - 1, formatVersion + 1} {
			s.do([]any{"HSET", s.k.channel(), "v", version})
			s.refusesFormat(version)
		}
	})
}

func (s scriptRunner) refusesFormat(version int) {
	s.t.Helper()
	for name, open := range map[string]func(context.Context, *skidway.DB, string) (*Channel, error){"open": Open, "open existing": OpenExisting} {
		before := s.state()
		_, err := open(s.t.Context(), handle.New(s.c.db), "web")
		var other *VersionError
		if !errors.As(err, &other) || other.Version != version || other.Channel != "web" {
			s.t.Errorf("%s, format %d: %v, want a VersionError", name, version, err)
		}
		s.sameState(name, s.state(), before)
	}
}

func TestNewerFormatOfAnAnnouncementIsRefused(t *testing.T) {
	t.Parallel()
	if _, err := parseAnnouncement([]byte(`{"v":5,"file":"f","shipment":1}`)); err != nil {
		t.Error(err)
	}
	if _, err := parseAnnouncement([]byte(`{"v":6,"file":"f","shipment":1}`)); err == nil || !strings.Contains(err.Error(), "newer Skidway") {
		t.Error(err)
	}
}
