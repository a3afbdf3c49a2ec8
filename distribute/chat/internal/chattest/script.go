// Package chattest has the fixtures that the tests of chats share. It tests scripts
// by tables, on a real Redis: the reply to a call that succeeds, to the same call
// repeated after a lost reply, to calls without keys, with keys that a newer release
// or a foreign program wrote, and while Redis is out of memory; and every refusal,
// which must change nothing.
//
// Commands, arguments and replies are written as words: $1 is the script's
// first key, ” an empty string, ␣ a space. A reply is flattened into words, an
// entry of a stream into its id; the word * in an expected reply stands for
// any word.
package chattest

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A Suite is the scripts of one package and the state that they are tested in.
type Suite struct {
	Keys    func(prefix string) []string
	Fixture []string // commands that write the state
	Newer   []string // commands that make it one of a newer release; nil: there is no version
	Scripts []Script
}

// A Script is the table of one script's calls and replies.
type Script struct {
	Name string
	Run  func(ctx context.Context, db *rdb.DB, keys []string, args ...any) (*redis.Cmd, error)

	Case // the call that succeeds

	Missing string // reply where no key exists; empty: Cases have it
	Newer   string // reply to Suite.Newer; empty means {'newer', '2'}
	Corrupt string // reply where the version is no number; empty means {'corrupt', 'v', 'x'}
	Full    bool   // it works, too, when the memory is full; else Redis refuses it
	Cases   []Case // beside that; Args default to those of the script
}

// A Case is one call of a script and its reply. A refusal, which is a reply that
// does not start with ok, must change nothing, unless Then names the changes.
type Case struct {
	Name  string
	Given []string // commands after Suite.Fixture
	Args  string
	Want  string
	Again string   // reply to the repeated call; empty means Want
	Same  bool     // the call changes nothing although it is no refusal
	Twice bool     // the repeated call takes effect again
	Then  []string // commands and their replies, as in "XLEN $2 = 0", with =, > or <
}

// Test runs all tables.
func (s Suite) Test(t *testing.T) {
	t.Parallel()
	full := redistest.Start(t, "--maxmemory-policy", "noeviction")
	for _, script := range s.Scripts {
		t.Run(script.Name, func(t *testing.T) {
			f := fixture{t: t, db: redistest.DB(t), suite: s, script: script}
			if script.Case.Name == "" {
				script.Case.Name = "succeeds"
			}
			cases := append([]Case{script.Case}, script.Cases...)
			if script.Missing != "" {
				cases = append(cases, Case{Name: "no key exists", Given: []string{f.drop()}, Want: script.Missing})
			}
			if s.Newer != nil {
				cases = append(cases,
					Case{Name: "newer format", Given: s.Newer, Want: or(script.Newer, "newer 2")},
					Case{Name: "corrupt format", Given: []string{"HSET $1 v x"}, Want: or(script.Corrupt, "corrupt v x")})
			}
			for _, c := range cases {
				if c.Args == "" {
					c.Args = script.Args
				}
				t.Run(c.Name, func(t *testing.T) { f.with(t).check(c) })
			}
			t.Run("memory full", func(t *testing.T) {
				f := f.with(t)
				f.db = redistest.Open(t, full.URL(0))
				f.checkFull()
			})
		})
	}
}

// A fixture is the state in which one script is tested.
type fixture struct {
	t      *testing.T
	db     *rdb.DB
	suite  Suite
	script Script
}

func (f fixture) with(t *testing.T) fixture { f.t = t; return f }

func (f fixture) keys() []string { return f.suite.Keys(f.db.Prefix()) }

// drop is the command that deletes every key.
func (f fixture) drop() string {
	command := "DEL"
	for i := range f.keys() {
		command += " $" + strconv.Itoa(i+1)
	}
	return command
}

func (f fixture) check(c Case) {
	f.t.Helper()
	f.reset(c.Given)
	before := f.state()
	f.want("first call", f.call(c.Args), c.Want)
	after := f.state()
	refusal := !strings.HasPrefix(c.Want, "ok") && c.Then == nil
	if (refusal || c.Same) && after != before {
		f.t.Errorf("it changed what it must not: before\n%safterwards\n%s", before, after)
	}
	f.checkThen(c)
	f.want("repeated call", f.call(c.Args), or(c.Again, c.Want))
	if again := f.state(); (again == after) == c.Twice {
		f.t.Errorf("took effect twice: %v, want %v: after the first call\n%safter the second\n%s", again != after, c.Twice, after, again)
	}
}

// checkThen checks what the call has left.
func (f fixture) checkThen(c Case) {
	f.t.Helper()
	for _, line := range c.Then {
		if command, want, equal := strings.Cut(line, " = "); equal {
			f.want(command, f.do(command), want)
			continue
		}
		command, bound, above := strings.Cut(line, " > ")
		if !above {
			command, bound, _ = strings.Cut(line, " < ")
		}
		limit, err := strconv.ParseFloat(bound, 64)
		if err != nil {
			f.t.Fatalf("%s is no comparison", line)
		}
		if n, err := strconv.ParseFloat(f.do(command), 64); err != nil || n == limit || n > limit != above {
			f.t.Errorf("%s: got %v, %v", line, n, err)
		}
	}
}

// checkFull checks the call of the script that succeeds, with no memory left.
func (f fixture) checkFull() {
	f.t.Helper()
	f.do("CONFIG SET maxmemory 0")
	f.reset(f.script.Given)
	before := f.state()
	f.do("CONFIG SET maxmemory 1")
	got := f.call(f.script.Args)
	if f.script.Full {
		f.want("call", got, f.script.Want)
		return
	}
	if !strings.Contains(got, "OOM") {
		f.t.Errorf("got %s, want the error OOM", got)
	}
	if after := f.state(); after != before {
		f.t.Errorf("a call that was refused changed something: before\n%safterwards\n%s", before, after)
	}
}

// reset empties the database and writes the state.
func (f fixture) reset(given []string) {
	f.t.Helper()
	f.do("FLUSHDB")
	for _, command := range append(slices.Clone(f.suite.Fixture), given...) {
		f.do(command)
	}
}

// do runs a command and returns its reply, "nil" for none.
func (f fixture) do(command string) string {
	f.t.Helper()
	args := f.words(command)
	reply, err := f.db.Do(f.t.Context(), args...).Result()
	if err != nil && err != redis.Nil {
		f.t.Fatalf("%s: %v", command, err)
	}
	return flat(reply)
}

// call runs the script and returns its reply, or the error of Redis.
func (f fixture) call(args string) string {
	f.t.Helper()
	// Redis replies at once, and a refused call need not be repeated.
	ctx, cancel := context.WithTimeout(f.t.Context(), time.Minute)
	defer cancel()
	reply, err := f.script.Run(ctx, f.db, f.keys(), f.words(args)...)
	if err != nil {
		return err.Error()
	}
	return flat(reply.Val())
}

func (f fixture) want(call, got, want string) {
	f.t.Helper()
	if !match(got, want) {
		f.t.Errorf("%s: got %q, want %q", call, got, want)
	}
}

func (f fixture) words(text string) (words []any) {
	keys := f.keys()
	for _, word := range strings.Fields(text) {
		if n, err := strconv.Atoi(strings.TrimPrefix(word, "$")); err == nil && word[0] == '$' {
			word = keys[n-1]
		}
		if word == "''" {
			word = ""
		}
		words = append(words, strings.ReplaceAll(word, "␣", " "))
	}
	return words
}

// clock matches times in ms and µs, which differ from call to call.
var clock = regexp.MustCompile(`\b\d{13,16}(-\d+)?\b`)

// state returns all that the keys hold, with T for each time.
func (f fixture) state() string {
	f.t.Helper()
	var text strings.Builder
	for i := range f.keys() {
		key := " $" + strconv.Itoa(i+1)
		var value string
		switch kind := f.do("TYPE" + key); kind {
		case "hash":
			fields, err := f.db.HGetAll(f.t.Context(), f.keys()[i]).Result()
			if err != nil {
				f.t.Fatal(err)
			}
			value = fmt.Sprint(fields)
		case "zset":
			members, err := f.db.ZRangeWithScores(f.t.Context(), f.keys()[i], 0, -1).Result()
			if err != nil {
				f.t.Fatal(err)
			}
			scores := map[string]string{}
			for _, member := range members {
				scores[fmt.Sprint(member.Member)] = flat(member.Score)
			}
			value = fmt.Sprint(scores)
		case "stream":
			entries, err := f.db.XRange(f.t.Context(), f.keys()[i], "-", "+").Result()
			if err != nil {
				f.t.Fatal(err)
			}
			value = fmt.Sprint(entries)
		default:
			value = kind
		}
		fmt.Fprintln(&text, clock.ReplaceAllString(value, "T"))
	}
	return text.String()
}

// flat returns a reply as words.
func flat(reply any) string {
	switch reply := reply.(type) {
	case nil:
		return "nil"
	case string:
		if reply == "" {
			return "''"
		}
		return strings.ReplaceAll(reply, " ", "␣")
	case float64:
		return strconv.FormatFloat(reply, 'f', -1, 64)
	case map[any]any:
		var pairs []string
		for name, value := range reply {
			pairs = append(pairs, flat(name)+" "+flat(value))
		}
		slices.Sort(pairs)
		return strings.Join(pairs, " ")
	case []any:
		if len(reply) == 2 {
			id, _ := reply[0].(string)
			if _, fields := reply[1].([]any); fields && entryID.MatchString(id) {
				return id
			}
		}
		words := []string{}
		for _, item := range reply {
			if word := flat(item); word != "" {
				words = append(words, word)
			}
		}
		return strings.Join(words, " ")
	}
	return fmt.Sprint(reply)
}

var entryID = regexp.MustCompile(`^\d+-\d+$`)

// match reports whether a reply is as expected.
func match(got, want string) bool {
	words, wants := strings.Fields(got), strings.Fields(want)
	return slices.EqualFunc(words, wants, func(word, want string) bool { return want == "*" || word == want })
}

func or(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
