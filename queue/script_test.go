package queue

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
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

// A scriptCase is one call of a script: what is there before it, what it
// replies, and what it changes.
//
// Each line of given and after is a Redis command or the call of a script, by
// the name of its file. Words are separated by spaces; 'a b' is one word. In a
// word :name is the key name of the queue, {kind=a,args=x} is a record of normal
// priority, @now+40 is 40 ms after the time of Redis, and @large is 150,000
// bytes. Replies are written as words on one line (” is an empty text, - is
// none) and compared with a regular expression.
type scriptCase struct {
	claim string
	given string
	call  string
	reply string
	after string // lines "command = reply", true after the first call

	// again is the reply to a repeated call, if it is another one. A repeated
	// call changes nothing unless it advances.
	again    string
	advances bool

	full string // the reply of a full Redis, if it is another one: "OOM"

	unchanged bool // the call changes nothing
	exactTime bool // runs only where the clock stands still: on the embedded server
}

// scriptCases are the cases of all scripts.
func scriptCases() []scriptCase {
	return slices.Concat(leaseCases, fetchCases, finishCases, recoverCases, enqueueCases, moveCases, operateCases, inspectCases, scheduleCases)
}

// calledScripts are the scripts that Go calls, by the name of their file.
var calledScripts = map[string]script{
	"await": awaitScript, "change": changeScript, "change_all": changeAllScript, "counters": countersScript, "depth": depthScript,
	"enqueue": enqueueScript, "enqueue_plain": enqueuePlainScript, "events": eventsScript, "fetch": fetchScript,
	"finish": finishScript, "joblog": logScript, "lease_beat": leaseBeatScript, "lease_close": leaseCloseScript,
	"lease_note": leaseNoteScript, "lease_open": leaseOpenScript, "list": listScript, "lookup": lookupScript, "move": moveScript,
	"pause": pauseScript, "recover": recoverScript, "reread": rereadScript, "retention": retentionScript,
	"schedule_due": scheduleDueScript, "schedule_fire": scheduleFireScript, "schedule_get": scheduleGetScript,
	"schedule_run": scheduleRunScript, "schedule_set": scheduleSetScript, "tidy": tidyScript, "workers": workersScript,
}

// runScript calls a script by the name of its file.
func runScript(ctx context.Context, q *Queue, name string, args []any) ([]any, error) {
	keys := q.keys
	switch {
	case name == "enqueue_plain":
		keys = q.plain
	case strings.HasPrefix(name, "schedule_"):
		keys = scheduleKeys(q.keys)
	}
	return calledScripts[name].runOn(ctx, q, keys, args...)
}

func TestScriptsReplyAsTheirHeadersState(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		eachScriptCase(t, db, func(f *scriptFixture, c scriptCase) {
			f.prepare(c.given)
			before := f.contents()
			f.wantReply(c.call, c.reply)
			once := f.contents()
			if c.unchanged && once != before {
				f.Errorf("the call changed\n%sto\n%s", before, once)
			}
			for _, line := range splitLines(c.after) {
				command, reply, _ := strings.Cut(line, " = ")
				f.wantReply(command, reply)
			}
			again := c.again
			if again == "" {
				again = c.reply
			}
			f.wantReply(c.call, again)
			if twice := f.contents(); !c.advances && withoutTimes(twice) != withoutTimes(once) {
				f.Errorf("the repeated call changed\n%sto\n%s", once, twice)
			}
		})
	})
}

func TestScriptsChangeNothingOfANewerFormat(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		eachScriptCase(t, db, func(f *scriptFixture, c scriptCase) {
			f.prepare(c.given + "\nHSET :meta format 2")
			before := f.contents()
			f.wantReply(c.call, "newer 2")
			if after := f.contents(); after != before {
				f.Errorf("the call changed\n%sto\n%s", before, after)
			}
		})
	})
}

func TestScriptsInAFullRedisRefuseOrDoAll(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0))
	eachScriptCase(t, db, func(f *scriptFixture, c scriptCase) {
		f.prepare(c.given)
		before := f.contents()
		reply := c.full
		if reply == "" {
			reply = c.reply
		}
		f.do("CONFIG SET maxmemory 1")
		f.wantReply(c.call, reply)
		f.do("CONFIG SET maxmemory 0")
		if after := f.contents(); (reply == "OOM" || c.unchanged) && after != before {
			f.Errorf("the call changed\n%sto\n%s", before, after)
		}
	})
}

// TestEveryReplyOfEveryScriptHasACase reads the headers of the scripts, which
// list their replies.
func TestEveryReplyOfEveryScriptHasACase(t *testing.T) {
	t.Parallel()
	replies := map[string]bool{} // "script word"
	for _, c := range scriptCases() {
		name, _, _ := strings.Cut(c.call, " ")
		word, _, _ := strings.Cut(c.reply, " ")
		replies[name+" "+word] = true
	}
	listed := regexp.MustCompile(`\{'(\w+)'`)
	for name := range calledScripts {
		source, err := os.ReadFile(filepath.Join("lua", name+".lua"))
		if err != nil {
			t.Fatal(err)
		}
		header := ""
		for line := range strings.Lines(string(source)) {
			if !strings.HasPrefix(line, "--") {
				break
			}
			header += line
		}
		for _, found := range append(listed.FindAllStringSubmatch(header, -1), []string{"", "ok"}) {
			if word := found[1]; word != "newer" && !replies[name+" "+word] {
				t.Errorf("no case has the reply %s of %s.lua", word, name)
			}
		}
	}
}

// A scriptFixture is one queue on which a case runs.
type scriptFixture struct {
	testing.TB
	db    *rdb.DB
	queue *Queue
	now   time.Time // by Redis's clock, before the case
}

// eachScriptCase runs a test for each case, on a queue of its own.
func eachScriptCase(t *testing.T, db *rdb.DB, test func(f *scriptFixture, c scriptCase)) {
	if db.Embedded() {
		if err := db.SetEmbeddedTime(time.Now().Truncate(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	client, err := New(db, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range scriptCases() {
		if c.exactTime && !db.Embedded() {
			continue
		}
		name, _, _ := strings.Cut(c.call, " ")
		t.Run(name+": "+c.claim, func(t *testing.T) {
			q, err := client.Queue(fmt.Sprint("q", i))
			if err != nil {
				t.Fatal(err)
			}
			now, err := db.Time(t.Context()).Result()
			if err != nil {
				t.Fatal(err)
			}
			test(&scriptFixture{t, db, q, now}, c)
		})
	}
}

func splitLines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

// prepare carries out lines of commands, none of which may fail.
func (f *scriptFixture) prepare(text string) {
	f.Helper()
	for _, line := range splitLines(text) {
		f.do(line)
	}
}

func (f *scriptFixture) do(line string) string {
	f.Helper()
	reply, err := f.send(line)
	if err != nil {
		f.Fatalf("%s: %v", line, err)
	}
	return reply
}

func (f *scriptFixture) wantReply(line, want string) {
	f.Helper()
	reply, err := f.send(line)
	var newer *FormatError
	switch {
	case errors.Is(err, ErrLeaseLost):
		reply = "lost"
	case errors.As(err, &newer):
		reply = "newer " + newer.Version
	case err != nil && strings.Contains(err.Error(), "OOM "):
		reply = "OOM"
	case err != nil:
		f.Fatalf("%.200s: %v", line, err)
	}
	if want = f.replaceTimes(want); !regexp.MustCompile("^(?:" + want + ")$").MatchString(reply) {
		f.Errorf("%.200s: the reply is %.400s, want %s", line, reply, want)
	}
}

var (
	wordPattern = regexp.MustCompile(`'[^']*'|\S+`)
	timePattern = regexp.MustCompile(`@now([+-]\d+)?`)
	timestamps  = regexp.MustCompile(`1\d{12}`)
)

// send carries out one line, a command of Redis or the call of a script.
func (f *scriptFixture) send(line string) (string, error) {
	var words []any
	for _, word := range wordPattern.FindAllString(line, -1) {
		words = append(words, f.expand(word))
	}
	name := words[0].(string)
	if name == strings.ToUpper(name) {
		value, err := f.db.Do(f.Context(), words...).Result()
		if err != nil && value == nil && strings.HasPrefix(err.Error(), "redis: nil") {
			err = nil
		}
		return text(value), err
	}
	reply, err := runScript(f.Context(), f.queue, name, words[1:])
	return text([]any(reply)), err
}

// expand replaces what stands for a key, a time, a record or many bytes.
func (f *scriptFixture) expand(word string) string {
	if quoted, found := strings.CutPrefix(word, "'"); found {
		return f.replaceTimes(strings.TrimSuffix(quoted, "'"))
	}
	if name, found := strings.CutPrefix(word, ":"); found {
		return strings.TrimSuffix(f.queue.keys[keyMeta], "meta") + name
	}
	word = strings.ReplaceAll(f.replaceTimes(word), "@large", strings.Repeat("x", 150_000))
	fields, found := strings.CutPrefix(word, "{")
	if !found {
		return word
	}
	record := []byte("1n")
	for field := range strings.SplitSeq(strings.TrimSuffix(fields, "}"), ",") {
		name, value, _ := strings.Cut(field, "=")
		record = appendField(record, name, value)
	}
	return string(record)
}

func (f *scriptFixture) replaceTimes(text string) string {
	return timePattern.ReplaceAllStringFunc(text, func(found string) string {
		offset, _ := strconv.ParseInt(strings.TrimPrefix(found, "@now"), 10, 64)
		return strconv.FormatInt(f.now.UnixMilli()+offset, 10)
	})
}

// text returns a reply as words on one line.
func text(value any) string {
	switch value := value.(type) {
	case nil:
		return "-"
	case string:
		if value == "" {
			return "''"
		}
		return value
	case float64:
		return strconv.FormatFloat(value, 'f', -1, 64)
	case []any:
		if len(value) == 0 {
			return "''"
		}
		words := make([]string, len(value))
		for i := range value {
			words[i] = text(value[i])
		}
		return strings.Join(words, " ")
	case map[any]any:
		var pairs []string
		for name, of := range value {
			pairs = append(pairs, text(name)+" "+text(of))
		}
		slices.Sort(pairs)
		return strings.Join(pairs, " ")
	}
	return fmt.Sprint(value)
}

// contents returns all that Redis holds of the queue, one reply a line.
func (f *scriptFixture) contents() string {
	f.Helper()
	base := strings.TrimSuffix(f.queue.keys[keyMeta], "meta")
	keys, err := f.db.Keys(f.Context(), base+"*").Result()
	if err != nil {
		f.Fatal(err)
	}
	slices.Sort(keys)
	types := f.pipeline(keys, func(string) [][]any { return [][]any{{"TYPE"}} })
	all := f.pipeline(keys, func(key string) [][]any {
		return map[string][][]any{
			"string": {{"GET"}}, "hash": {{"HGETALL"}}, "zset": {{"ZRANGE", 0, -1, "WITHSCORES"}},
			"stream": {{"XRANGE", "-", "+"}, {"XINFO", "GROUPS"}, {"XPENDING", "workers"}},
		}[strings.TrimSpace(types[key])]
	})
	var lines strings.Builder
	for _, key := range keys {
		fmt.Fprintf(&lines, "%s %s\n", strings.TrimPrefix(key, base), all[key])
	}
	return lines.String()
}

// pipeline sends commands for each key in one round trip, and returns the
// replies by key. A command's key goes before its numbers and options.
func (f *scriptFixture) pipeline(keys []string, commands func(key string) [][]any) map[string]string {
	f.Helper()
	replies := map[string]string{}
	sent := map[string][]*redis.Cmd{}
	_, _ = f.db.Pipelined(f.Context(), func(p redis.Pipeliner) error { // each command has its error
		for _, key := range keys {
			for _, command := range commands(key) {
				at := 1
				if command[0] == "XINFO" {
					at = 2
				}
				sent[key] = append(sent[key], p.Do(f.Context(), slices.Insert(command, at, any(key))...))
			}
		}
		return nil
	})
	for key, commands := range sent {
		for _, command := range commands {
			value, err := command.Result()
			if err != nil && !strings.HasPrefix(err.Error(), "NOGROUP") {
				f.Fatalf("%v: %v", command.Args(), err)
			}
			replies[key] += text(value) + "\n"
		}
	}
	return replies
}

// withoutTimes replaces the times in a text, which differ from call to call.
func withoutTimes(text string) string { return timestamps.ReplaceAllString(text, "TIME") }
