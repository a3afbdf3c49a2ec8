package rdb_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// folder makes a package's Lua of names and texts by turns.
func folder(files ...string) fstest.MapFS {
	folder := fstest.MapFS{}
	for i := 0; i < len(files); i += 2 {
		folder["lua/"+files[i]+".lua"] = &fstest.MapFile{Data: []byte(files[i+1])}
	}
	return folder
}

// assembled returns the text of main.lua of a package that is named after the
// test, without what concerns luacheck.
func assembled(t *testing.T, keys rdb.Keys, files fstest.MapFS) string {
	t.Helper()
	rdb.LoadScripts(t.Name(), files, keys, nil).Script("main", "test")
	text, ok := rdb.ScriptText(t.Name() + "/main")
	if !ok || !slices.Contains(rdb.ScriptNames(), t.Name()+"/main") {
		t.Fatal("the script has no text or no name")
	}
	var lines []string
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "-- luacheck: ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "")
}

func TestIncludedFileIsInTheScriptOnce(t *testing.T) {
	t.Parallel()
	got := assembled(t, nil, folder(
		"main", "-- @include a\n-- @include b\nreturn a + b",
		"a", "-- @include b\nlocal a = b",
		"b", "local b = 1\n",
	))
	want := "-- from main.lua\n-- from a.lua\n-- from b.lua\nlocal b = 1\n-- from a.lua\nlocal a = b\n-- from main.lua\n-- from main.lua\nreturn a + b\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestLazyFunctionHoldsWhatIsNotIncludedAround(t *testing.T) {
	t.Parallel()
	got := assembled(t, nil, folder(
		"main", "-- @include a\n-- @lazy outer b part\n-- @include b\nreturn outer()",
		"part", "-- @include a\n-- @include b\n-- @lazy inner c\nreturn inner()",
		"a", "local a = 1", "b", "local b = 2", "c", "-- @include b\nreturn b",
	))
	from := strings.Index(got, "local function outer()")
	to := strings.LastIndex(got, "\nend\n")
	inside, after := got[from:to], got[to:]
	if strings.Count(inside, "local b = 2") != 1 || strings.Contains(inside, "local a") || !strings.Contains(inside, "local function inner()") {
		t.Errorf("in the function:\n%s", inside)
	}
	if strings.Count(after, "local b = 2") != 1 {
		t.Errorf("what a function includes is not visible behind it:\n%s", after)
	}
}

func TestSharedLuaOfTheKitCanBeIncluded(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		files := folder("main", `
-- @include int clock
-- @include entries groups
redis.call('XGROUP', 'CREATE', STREAM, 'workers', '0', 'MKSTREAM')
local group = find_group(STREAM, 'workers')
return {int(2 ^ 53), int(clock_ms()), group.name, tostring(find_group(STREAM, 'none') == nil),
  tostring(before('9-2', '10-1')), tostring(before('9-2', '9-10')), tostring(before('9-2', '9-2')), tostring(before('9', '9-1'))}`)
		script := rdb.LoadScripts(t.Name(), files, rdb.Keys{"stream"}, nil).Script("main", "test")
		reply, err := script.Run(soon(t), db, []string{"s"})
		if err != nil {
			t.Fatal(err)
		}
		got := reply.Texts()
		if age := time.Since(reply.Time(1)); age < -time.Minute || age > time.Minute {
			t.Errorf("the clock is off by %s", age)
		}
		if want := []string{"9007199254740992", got[1], "workers", "true", "true", "true", "false", "true"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

func TestWrongLuaPanicsWithThePlace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  string
	}{
		"cycle":             {folder("main", "-- @include a", "a", "-- @include b", "b", "-- @include a"), "cycle/main: main > a > b > a: the files include each other"},
		"lazy cycle":        {folder("main", "-- @lazy f a", "a", "-- @include main"), "main > a > main: the files include each other"},
		"missing":           {folder("main", "-- @include a", "a", "-- @include none"), "main > a > none: no file lua/none.lua"},
		"missing script":    {folder(), "main: no file lua/main.lua"},
		"unknown directive": {folder("main", "-- @inclued a"), `main: unknown directive ["inclued" "a"]`},
		"include nothing":   {folder("main", "-- @include"), `unknown directive ["include"]`},
		"lazy of nothing":   {folder("main", "-- @lazy f"), `unknown directive ["lazy" "f"]`},
		"name taken":        {folder("main", "-- @include int", "int", ""), "main > int: lua/int.lua is in 2 folders"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			defer func() {
				if err, ok := recover().(error); !ok || !strings.Contains(err.Error(), c.want) {
					t.Errorf("the panic is %v, want %s", err, c.want)
				}
			}()
			rdb.LoadScripts(t.Name(), c.files, nil, nil).Script("main", "test")
			rdb.ScriptText(t.Name() + "/main")
		})
	}
}

func TestOnlyKeysThatAreUsedAreDeclared(t *testing.T) {
	t.Parallel()
	got := assembled(t, rdb.Keys{"meta", "delayed", "delayed:jobs", "dead"}, folder(
		"main", "-- META is not used here\nreturn redis.call('DEAD', \"META\", DELAYED_JOBS) .. DEAD"))
	if want := "local DELAYED_JOBS, DEAD = KEYS[3], KEYS[4]\n"; !strings.HasPrefix(got, want) {
		t.Errorf("got\n%s\nwant first\n%s", got, want)
	}
	if got := assembled(t, rdb.Keys{"meta"}, folder("main", "return 1")); strings.Contains(got, "local") {
		t.Errorf("without a key:\n%s", got)
	}
}

func TestScriptMayHaveKeysOfItsOwn(t *testing.T) {
	t.Parallel()
	rdb.LoadScripts(t.Name(), folder("main", "return META"), rdb.Keys{"meta"}, nil).Script("main", "test", "other", "meta")
	if text, _ := rdb.ScriptText(t.Name() + "/main"); !strings.HasPrefix(text, "local META = KEYS[2]\n") {
		t.Errorf("got\n%s", text)
	}
}

func TestScriptWithFlagsRunsWhileRedisIsFull(t *testing.T) {
	t.Parallel()
	scripts := rdb.LoadScripts(t.Name(), folder(
		"flagged", "#!lua flags=allow-oom\n-- @include part\nreturn add(COUNT)", "plain", "-- @include part\nreturn add(COUNT)",
		"part", "local function add(key) return redis.call('INCR', key) end",
	), rdb.Keys{"count"}, nil)
	flagged, plain := scripts.Script("flagged", "count"), scripts.Script("plain", "count")
	if text, _ := rdb.ScriptText(t.Name() + "/flagged"); !strings.HasPrefix(text, "#!lua flags=allow-oom\nlocal COUNT = KEYS[1]\n-- from flagged.lua\n") {
		t.Errorf("the script is\n%s", text)
	}
	server := redistest.Start(t)
	for _, url := range []string{server.URL(0), "embedded:"} {
		db := open(t, url, rdb.Options{})
		if !db.Embedded() {
			if err := db.ConfigSet(soon(t), "maxmemory", "1").Err(); err != nil {
				t.Fatal(err)
			}
		}
		if n, err := flagged.Int(soon(t), db, []string{"k"}); n != 1 || err != nil {
			t.Errorf("%s: the script with the flag returns %d, %v", url, n, err)
		}
		results, err := flagged.RunAll(soon(t), db, []rdb.Call{{Keys: []string{"k"}}})
		if err != nil || results[0].Err != nil || results[0].Int(0) != 2 {
			t.Errorf("%s: many runs return %v, %v", url, results, err)
		}
		if _, err := plain.Int(soon(t), db, []string{"k"}); (err == nil) != db.Embedded() {
			t.Errorf("%s: the script without flags returns %v", url, err)
		}
	}
}

func TestWordOfAReplyBecomesItsError(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		gone, late := errors.New("gone"), errors.New("late")
		scripts := rdb.LoadScripts(t.Name(), folder("main", "local reply = {unpack(ARGV)}\nreply[#reply + 1] = 7\nreturn reply", "plain", "return ARGV[1]"), nil, rdb.Words{
			"gone":  rdb.Refusal(gone),
			"late":  func(r rdb.Reply) error { return errors.Join(late, errors.New(r.Op+r.Text(0)+r.Text(1))) },
			"empty": nil,
		})
		main := scripts.Idempotent("main", "send")
		for word, want := range map[string]string{"ok": "<nil>", "empty": "<nil>", "gone": "send: gone", "late": "late\nsendx7", "odd": "send: unexpected answer \"odd\" from the script"} {
			reply, err := main.Run(soon(t), db, []string{"k"}, word, "x")
			if fmt.Sprint(err) != want {
				t.Errorf("%s: the error is %v, want %s", word, err, want)
			}
			if reply.Word != word || reply.Op != "send" || !slices.Equal(reply.Texts(), []string{"x", "7"}) {
				t.Errorf("%s: the reply is %+v", word, reply)
			}
		}
		results, err := main.RunAll(soon(t), db, []rdb.Call{{Keys: []string{"k"}, Args: []any{"ok"}}, {Keys: []string{"k"}, Args: []any{"gone"}}})
		if err != nil || results[0].Err != nil || results[0].Int(0) != 7 || !errors.Is(results[1].Err, gone) {
			t.Errorf("many calls: %v, %v", results, err)
		}
		if reply, err := scripts.Script("plain", "echo").Run(soon(t), db, []string{"k"}, "odd"); err != nil || reply.Text(0) != "odd" {
			t.Errorf("a reply that is no list: %v, %v", reply, err)
		}
	})
}

func TestValuesOfAReplyAreReadAsAsked(t *testing.T) {
	t.Parallel()
	r := rdb.Reply{Values: []any{"12", int64(-3), nil, []any{"a", int64(5)}, "x"}}
	if got, want := r.Texts(), []string{"12", "-3", "", "", "x"}; !slices.Equal(got, want) {
		t.Errorf("Texts: %q, want %q", got, want)
	}
	for i, want := range []int64{12, -3, 0, 0, 0, 0} {
		if got := r.Int(i); got != want {
			t.Errorf("Int(%d): %d, want %d", i, got, want)
		}
	}
	if r.Text(5) != "" || r.List(3).Int(1) != 5 || r.List(0).Len() != 0 || r.List(9).Len() != 0 {
		t.Errorf("%v is read wrongly", r)
	}
	if got := r.From(3).From(1).Texts(); !slices.Equal(got, []string{"x"}) || r.From(9).Len() != 0 {
		t.Errorf("From: %q", got)
	}
	if first, rest := r.Cut(2); !slices.Equal(first.Texts(), []string{"12", "-3"}) || rest.Len() != 3 || r.From(-1).Len() != 5 {
		t.Errorf("Cut: %v, %v", first, rest)
	}
	if !r.Time(0).Equal(time.UnixMilli(12)) || !r.Time(1).IsZero() || !r.Time(2).IsZero() {
		t.Error("Time is wrong")
	}
}

func TestBackoffDoublesUpToItsMaximum(t *testing.T) {
	t.Parallel()
	b := rdb.Backoff{First: 30 * time.Millisecond, Max: 100 * time.Millisecond}
	for i, want := range []time.Duration{30, 60, 100, 100} {
		if got := b.Next(); got != want*time.Millisecond {
			t.Errorf("pause %d is %s, want %d ms", i, got, want)
		}
	}
	if b.Reset(); b.Next() != 30*time.Millisecond {
		t.Error("after Reset the first pause is another one")
	}
	var zero rdb.Backoff
	if zero.Next() != rdb.DefaultFirstPause || zero.Next() != 2*rdb.DefaultFirstPause {
		t.Error("the zero value has other pauses")
	}
}
