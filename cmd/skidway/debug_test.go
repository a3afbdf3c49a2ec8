package main

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"skidway/cmd/skidway/internal/cli"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
)

// Redis compiles what it loads: Lua has at most 200 locals and 60 upvalues for
// each function.
func TestEveryScriptIsTakenByRedis(t *testing.T) {
	redistest.Backends(t, func(t *testing.T, db *rdb.DB) {
		names := rdb.ScriptNames()
		if len(names) == 0 {
			t.Fatal("there are no scripts")
		}
		for _, name := range names {
			text, _ := rdb.ScriptText(name)
			if err := db.ScriptLoad(t.Context(), text).Err(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestEveryFileOfLuaIsInAScript(t *testing.T) {
	t.Parallel()
	var scripts []string
	for _, name := range rdb.ScriptNames() {
		text, _ := rdb.ScriptText(name)
		scripts = append(scripts, text)
	}
	files := 0
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" {
			return err
		}
		files++
		source, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		// Directives are replaced; the code after the last one is kept.
		code := string(source)
		if i := strings.LastIndex(code, "\n-- @"); i >= 0 {
			_, code, _ = strings.Cut(code[i+1:], "\n")
		}
		if !slices.ContainsFunc(scripts, func(script string) bool { return strings.Contains(script, strings.TrimSpace(code)) }) {
			t.Errorf("no script has %s", path)
		}
		return nil
	})
	if err != nil || files < 50 {
		t.Fatalf("%d files, %v", files, err)
	}
}

func TestDebugPrintsAssembledScripts(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	list := mustRun(t, folder, "debug", "script").stdout
	if list != strings.Join(rdb.ScriptNames(), "\n")+"\n" {
		t.Errorf("the list is\n%s", list)
	}
	source, err := os.ReadFile("../../queue/lua/register.lua")
	if err != nil {
		t.Fatal(err)
	}
	if got := mustRun(t, folder, "debug", "script", "queue/register").stdout; !strings.HasSuffix(got, string(source)) || !strings.HasPrefix(got, "local QUEUES") {
		t.Errorf("the script is\n%s", got)
	}
	o := skidway(t, folder, "debug", "script", "queue/none")
	if o.code != cli.ExitUsage || o.stdout != "" {
		t.Errorf("exit code %d, %q", o.code, o.stdout)
	}
	hasLine(t, o.stderr, "skidway: ", `unknown script "queue/none"`)
}
