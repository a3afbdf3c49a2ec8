package queue

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// A scriptCase is one call of a script: the contents before it, its reply, and its
// changes. testdata/scripts/states.txt describes the files of cases.
type scriptCase struct {
	claim string
	given []string
	call  string
	reply string
	after []string // lines "command = reply"
	again string
	full  string

	unchanged, advances, exact bool
}

// scriptCases reads the cases of all scripts.
func scriptCases(t *testing.T) (cases []scriptCase) {
	t.Helper()
	const states = "testdata/scripts/states.txt"
	files, err := filepath.Glob("testdata/scripts/*.txt")
	if err != nil || !slices.Contains(files, states) {
		t.Fatal(files, err)
	}
	defined := map[string][]string{}
	for _, file := range slices.Insert(files, 0, states) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq(string(content), "\n\n") {
			name, isState := strings.CutPrefix(block, "define ")
			name, _, _ = strings.Cut(name, "\n")
			if !isState && file == states {
				continue // its introduction
			}
			c, err := readScriptCase(block, defined)
			if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			if isState {
				defined[name] = c.given
				continue
			}
			cases = append(cases, c)
		}
	}
	return cases
}

func readScriptCase(block string, defined map[string][]string) (c scriptCase, err error) {
	for line := range strings.Lines(block) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		rest = strings.TrimSpace(rest)
		switch word {
		case "define":
		case "case":
			c.claim = rest
		case "use":
			if defined[rest] == nil {
				return c, fmt.Errorf("case %q uses %q, which is not defined", c.claim, rest)
			}
			c.given = append(c.given, defined[rest]...)
		case "given":
			c.given = append(c.given, rest)
		case "call":
			c.call = rest
		case "reply":
			c.reply = rest
		case "after":
			c.after = append(c.after, rest)
		case "again":
			c.again = rest
		case "full":
			c.full = rest
		case "unchanged":
			c.unchanged = true
		case "advances":
			c.advances = true
		case "exact":
			c.exact = true
		default:
			return c, fmt.Errorf("case %q: unknown line %q", c.claim, line)
		}
	}
	c.again, c.full = cmp.Or(c.again, c.reply), cmp.Or(c.full, c.reply)
	return c, nil
}

// calledScripts are the scripts that Go calls, by the name of their file.
var calledScripts = map[string]*rdb.Script{
	"await": awaitScript, "change": changeScript, "counters": countersScript, "depth": depthScript,
	"enqueue": enqueueScript, "enqueue_once": enqueueOnceScript, "enqueue_plain": enqueuePlainScript, "events": eventsScript, "fetch": fetchScript, "fetch_look": fetchLookScript,
	"finish": finishScript, "forget": forgetScript, "held": heldScript, "joblog": logScript, "lease_beat": leaseBeatScript, "lease_close": leaseCloseScript,
	"lease_solo": leaseSoloScript, "list": listScript, "lookup": lookupScript, "move": moveScript, "operation": operationScript,
	"pause": pauseScript, "recover": recoverScript, "reread": rereadScript, "retention": retentionScript, "salt": saltScript,
	"scan_look": scanLookScript, "scan_shelf": scanShelfScript,
	"schedule_due": scheduleDueScript, "schedule_fire": scheduleFireScript, "schedule_get": scheduleGetScript,
	"schedule_run": scheduleRunScript, "schedule_set": scheduleSetScript, "signal_send": signalScript, "tidy": tidyScript, "workers": workersScript,
}

// runScript calls a script by the name of its file.
func runScript(ctx context.Context, q *PoolQueue, name string, args []any) ([]any, error) {
	keys := q.keys
	switch {
	case name == "enqueue_plain":
		keys = q.plain
	case strings.HasPrefix(name, "schedule_"):
		keys = scheduleKeys(q.keys)
	case name == "forget":
		keys = allKeys(q.keys)
	case name == "enqueue_once":
		keys = requestKeys(q.keys)
	case name == "operation":
		keys = operationKeys(q.keys, args[1].(string))
	}
	reply, err := q.runOn(ctx, calledScripts[name], keys, args...)
	return append([]any{reply.Word}, reply.Values...), err
}

func TestScriptsReplyAsTheirHeadersState(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		eachScriptCase(t, db, func(f *scriptFixture, c scriptCase) {
			f.prepare(c.given...)
			before := f.contents()
			f.wantReply(c.call, c.reply)
			once := f.contents()
			if c.unchanged && once != before {
				f.Errorf("the call changed\n%sto\n%s", before, once)
			}
			for _, line := range c.after {
				command, reply, _ := strings.Cut(line, " = ")
				f.wantReply(command, reply)
			}
			f.wantReply(c.call, c.again)
			if twice := f.contents(); !c.advances && withoutTimes(twice) != withoutTimes(once) {
				f.Errorf("the repeated call changed\n%sto\n%s", once, twice)
			}
		})
	})
}

func TestScriptsChangeNothingOfAnotherFormat(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		eachScriptCase(t, db, func(f *scriptFixture, c scriptCase) {
			f.prepare(c.given...)
			for _, format := range []string{"1", "3"} {
				f.prepare("HSET :meta format " + format)
				before := f.contents()
				f.wantReply(c.call, "format "+format)
				if after := f.contents(); after != before {
					f.Errorf("the call changed\n%sto\n%s", before, after)
				}
			}
		})
	})
}

func TestScriptsInAFullRedisRefuseOrDoAll(t *testing.T) {
	t.Parallel()
	db := redistest.Open(t, redistest.Start(t, "--maxmemory-policy", "noeviction").URL(0))
	eachScriptCase(t, db, func(f *scriptFixture, c scriptCase) {
		f.prepare(c.given...)
		before := f.contents()
		f.do("CONFIG SET maxmemory 1")
		f.wantReply(c.call, c.full)
		f.do("CONFIG SET maxmemory 0")
		if after := f.contents(); (c.full == "OOM" || c.unchanged) && after != before {
			f.Errorf("the call changed\n%sto\n%s", before, after)
		}
	})
}

// TestEveryReplyOfEveryScriptHasACase reads the headers of the scripts, which
// list their replies.
func TestEveryReplyOfEveryScriptHasACase(t *testing.T) {
	t.Parallel()
	replies := map[string]bool{} // "script word"
	for _, c := range scriptCases(t) {
		name, _, _ := strings.Cut(c.call, " ")
		word, _, _ := strings.Cut(c.reply, " ")
		replies[name+" "+word] = true
	}
	headers, err := filepath.Glob("lua/*.lua")
	if err != nil {
		t.Fatal(err)
	}
	listed := regexp.MustCompile(`\{'(\w+)'`)
	for _, file := range headers {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		header, _, _ := strings.Cut(string(source), "-- @include")
		name := strings.TrimSuffix(filepath.Base(file), ".lua")
		if _, returns, _ := strings.Cut(header, "\n-- Returns "); returns == "" || slices.Contains([]string{"pool_beat", "pools", "register", "unregister", "unused"}, name) {
			continue // included by others, or of the registry (see registry_test.go and pools_test.go)
		}
		for _, found := range append(listed.FindAllStringSubmatch(header, -1), []string{"", "ok"}) {
			if word := found[1]; word != "format" && !replies[name+" "+word] {
				t.Errorf("no case has the reply %s of %s.lua", word, name)
			}
		}
	}
}
