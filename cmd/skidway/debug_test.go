package main

import (
	"os"
	"path/filepath"
	"regexp"
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
	marker := regexp.MustCompile(`(?m)^-- from (.*)$`)
	used := map[string]bool{}
	for _, name := range rdb.ScriptNames() {
		text, _ := rdb.ScriptText(name)
		for _, match := range marker.FindAllStringSubmatch(text, -1) {
			used[match[1]] = true
		}
	}
	for _, folder := range []string{"../../queue/lua", "../../internal/rdb/lua"} {
		files, err := filepath.Glob(folder + "/*.lua")
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %d files, %v", folder, len(files), err)
		}
		for _, file := range files {
			if !used[filepath.Base(file)] {
				t.Errorf("no script has %s", file)
			}
		}
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
