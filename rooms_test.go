package skidway_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// rooms says what each package may import of ours, beside internal/rdb. A
// package that is not listed may not exist.
var rooms = map[string][]string{
	"skidway":                                     {},
	"skidway/internal/rdb":                        {},
	"skidway/internal/redistest":                  {},
	"skidway/internal/samplelog":                  {},
	"skidway/queue":                               {},
	"skidway/delayed":                             {"skidway/queue"},
	"skidway/workers":                             {"skidway/queue", "skidway/delayed"},
	"skidway/workers/workerstest":                 {"skidway/workers", "skidway/queue", "skidway/delayed"},
	"skidway/workers/kinds":                       {"skidway/workers", "skidway/queue", "skidway/distribute", "skidway/distribute/accesslog", "skidway/distribute/geo"},
	"skidway/workers/metrics":                     {"skidway/workers", "skidway/queue"},
	"skidway/distribute/chat":                     {},
	"skidway/distribute/chat/internal/scripttest": {"skidway/internal/redistest"},
	"skidway/distribute/accesslog":                {},
	"skidway/distribute/geo":                      {},
	"skidway/distribute/geo/generate":             {},
	"skidway/distribute":                          {"skidway/distribute/chat", "skidway/distribute/accesslog", "skidway/distribute/geo"},
	"skidway/cmd/skidway":                         {"skidway/queue", "skidway/delayed", "skidway/workers", "skidway/workers/kinds", "skidway/workers/metrics", "skidway/distribute", "skidway/distribute/chat", "skidway/distribute/accesslog", "skidway/distribute/geo", "skidway/internal/samplelog"},
}

// onlyInTests may be imported by tests of any room, beside what the room may
// import.
var onlyInTests = []string{"skidway", "skidway/queue", "skidway/workers/workerstest", "skidway/distribute/chat", "skidway/distribute/chat/internal/scripttest", "skidway/internal/redistest", "skidway/internal/samplelog"}

type goPackage struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func TestRoomsImportOnlyWhatTheyMay(t *testing.T) {
	for _, p := range listPackages(t) {
		allowed, listed := rooms[p.ImportPath]
		if !listed {
			t.Errorf("%s is no room of this house: add it to the table, with what it may import", p.ImportPath)
			continue
		}
		allowed = append([]string{"skidway/internal/rdb", p.ImportPath}, allowed...)
		refuse(t, p.ImportPath, p.Imports, allowed)
		inTests := append(allowed, onlyInTests...)
		refuse(t, p.ImportPath+" (tests)", append(p.TestImports, p.XTestImports...), inTests)
	}
}

func refuse(t *testing.T, room string, imports, allowed []string) {
	t.Helper()
	for _, path := range imports {
		ours := path == "skidway" || strings.HasPrefix(path, "skidway/")
		if ours && !slices.Contains(allowed, path) {
			t.Errorf("%s may not import %s", room, path)
		}
	}
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	output, err := exec.Command("go", "list", "-json=ImportPath,Imports,TestImports,XTestImports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(strings.NewReader(string(output))); ; {
		var p goPackage
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return packages
		}
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
