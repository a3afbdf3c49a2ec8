package queue

import (
	"crypto/sha1"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/internal/rdb"
)

// A scriptFixture is one queue on which a case runs.
type scriptFixture struct {
	testing.TB
	db    *rdb.DB
	queue *PoolQueue
	now   time.Time // by Redis's clock, before the case
}

// eachScriptCase runs a test for each case, on a queue of its own.
func eachScriptCase(t *testing.T, db *rdb.DB, test func(f *scriptFixture, c scriptCase)) {
	if db.Embedded() {
		if err := db.SetEmbeddedTime(time.Now().Truncate(time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	client, err := NewClient(handle.New(db), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, c := range scriptCases(t) {
		if c.exact && !db.Embedded() {
			continue
		}
		name, _, _ := strings.Cut(c.call, " ")
		t.Run(name+": "+c.claim, func(t *testing.T) {
			q, err := client.ForPool(fmt.Sprint("q", i))
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

// prepare executes lines; the test fails if one does.
func (f *scriptFixture) prepare(lines ...string) {
	f.Helper()
	for _, line := range lines {
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
	var format *FormatError
	switch {
	case errors.Is(err, ErrLeaseLost):
		reply = "lost"
	case errors.As(err, &format):
		reply = "format " + format.Version
	case err != nil && strings.Contains(err.Error(), "OOM "):
		reply = "OOM"
	case err != nil:
		f.Fatalf("%.200s: %v", line, err)
	}
	if want = f.expandLine(want); !regexp.MustCompile("^(?:" + want + ")$").MatchString(reply) {
		f.Errorf("%.200s: the reply is %.400s, want %s", line, reply, want)
	}
}

var (
	wordPattern    = regexp.MustCompile(`'[^']*'|\S+`)
	timePattern    = regexp.MustCompile(`@now([+-]\d+)?`)
	entriesPattern = regexp.MustCompile(`@entries\((\d+),(\d+)\)`)
	fieldsPattern  = regexp.MustCompile(`@fields\((\d+)\)`)
	versionPattern = regexp.MustCompile(`@version\((.*?)\)`)
	timestamps     = regexp.MustCompile(`1\d{12}`)
)

// send executes one line: a command of Redis, the call of a script, or jobs to add.
func (f *scriptFixture) send(line string) (string, error) {
	var words []any
	for _, word := range wordPattern.FindAllString(f.expandLine(line), -1) {
		words = append(words, f.expandWord(word))
	}
	name := words[0].(string)
	switch {
	case name == "jobs":
		for n := range integer(words[1].(string)) {
			f.do(fmt.Sprintf("XADD :2:normal:fresh %d-1 kind a args x", n+1))
		}
		return "", nil
	case name == "lease":
		f.do(fmt.Sprintf("ZADD :leases @now+%s %s", words[2], words[1]))
		f.do(fmt.Sprintf("ZADD :lengths %s %s", words[2], words[1]))
		return "", nil
	case name == strings.ToUpper(name):
		value, err := f.db.Do(f.Context(), words...).Result()
		if errors.Is(err, redis.Nil) {
			err = nil
		}
		return text(value), err
	}
	reply, err := runScript(f.Context(), f.queue, name, words[1:])
	return text([]any(reply)), err
}

func integer(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}

// expandLine replaces the placeholders for times and for several words.
func (f *scriptFixture) expandLine(line string) string {
	replace := func(pattern *regexp.Regexp, by func(found []string) string) {
		line = pattern.ReplaceAllStringFunc(line, func(text string) string { return by(pattern.FindStringSubmatch(text)) })
	}
	replace(timePattern, func(found []string) string { return fmt.Sprint(f.now.UnixMilli() + int64(integer(found[1]))) })
	replace(fieldsPattern, func(found []string) string { return strings.Repeat("x 1 ", integer(found[1])) })
	replace(versionPattern, func(found []string) string { return fmt.Sprintf("%x", sha1.Sum([]byte(found[1]))) })
	replace(entriesPattern, func(found []string) (entries string) {
		for n := integer(found[1]); n <= integer(found[2]); n++ {
			entries += fmt.Sprintf("%d-1 ", n)
		}
		return entries
	})
	return line
}

// large is what @large stands for: it is made once, because the race detector follows each of its bytes.
var large = strings.Repeat("x", 150_000)

// expandWord replaces the placeholders for a key, a record, many bytes or the end of a
// line.
func (f *scriptFixture) expandWord(word string) string {
	word = strings.ReplaceAll(word, "@large", large)
	if quoted, found := strings.CutPrefix(word, "'"); found {
		return strings.ReplaceAll(strings.TrimSuffix(quoted, "'"), `\n`, "\n")
	}
	if name, found := strings.CutPrefix(word, ":"); found {
		return strings.TrimSuffix(f.queue.keys[keyMeta], "meta") + name
	}
	fields, found := strings.CutPrefix(word, "{")
	if !found {
		return word
	}
	record := []byte("2n")
	for field := range strings.SplitSeq(strings.TrimSuffix(fields, "}"), ",") {
		name, value, _ := strings.Cut(field, "=")
		record = appendField(record, name, value)
	}
	return string(record)
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

// contents returns the contents of the queue in Redis, one reply per line.
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

// withoutTimes replaces the times in a text, which differ between calls.
func withoutTimes(text string) string { return timestamps.ReplaceAllString(text, "TIME") }
