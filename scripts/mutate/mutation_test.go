package main

import (
	"go/parser"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua/parse"
)

func TestEveryPlaceOfTheListIsFoundOnce(t *testing.T) {
	mutations, err := parse(list)
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]bool{}
	for _, m := range mutations {
		if ids[m.id] {
			t.Errorf("the id %s is given twice", m.id)
		}
		ids[m.id] = true
		files, err := m.apply("../..")
		if err != nil {
			t.Error(err)
		}
		for name, text := range files {
			if err := checkSyntax(name, text); err != nil {
				t.Errorf("mutation %s: what it makes of %s is not valid: %v", m.id, name, err)
			}
		}
		for _, name := range m.packages {
			if tests, _ := filepath.Glob(filepath.Join("../..", name, "*_test.go")); len(tests) == 0 {
				t.Errorf("mutation %s: %s has no tests", m.id, name)
			}
		}
	}
}

func checkSyntax(name, text string) error {
	var err error
	switch filepath.Ext(name) {
	case ".go":
		_, err = parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	case ".lua":
		_, err = lua.Parse(strings.NewReader(strings.Replace(text, "#!", "-- ", 1)), name) // the shebang is Redis's own
	}
	return err
}

const example = `# A comment.

mutation A1 Two places of one file
test ./x ./y
file a.txt
-one
-	two
+1
+2
-four

file b.txt
-b
+B
`

func TestAMutationChangesAllItsPlaces(t *testing.T) {
	mutations, err := parse(example)
	if err != nil {
		t.Fatal(err)
	}
	m := mutations[0]
	if m.id != "A1" || m.meaning != "Two places of one file" || !reflect.DeepEqual(m.packages, []string{"./x", "./y"}) {
		t.Errorf("parsed %+v", m)
	}
	folder := t.TempDir()
	for name, text := range map[string]string{"a.txt": "zero\n  one\n    two three\nfour five", "b.txt": "abc"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := m.apply(folder)
	want := map[string]string{"a.txt": "zero\n  1\n2 three\n five", "b.txt": "aBc"}
	if err != nil || !reflect.DeepEqual(files, want) {
		t.Errorf("got %q and %v, want %q", files, err, want)
	}
}

func TestAPlaceThatIsNotFoundOnceIsRefused(t *testing.T) {
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "a"), []byte("twice twice"), 0o600); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{"once": "no such text", "twice": "more than one such text", "": "more than one"} {
		m := mutation{id: "X", substitutions: []substitution{{file: "a", replaced: []string{text}}}}
		if _, err := m.apply(folder); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
}

func TestAListThatDoesNotParseIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no mutation":     "file a\n",
		"no file":         "mutation A a\ntest ./x\n-text\n",
		"no package":      "mutation A a\nfile a\n-text\n",
		"no substitution": "mutation A a\ntest ./x\nfile a\n",
		"no meaning":      "mutation A\ntest ./x\nfile a\n-text\n",
		"unknown word":    "mutation A a\nwhat is this\n",
	} {
		if _, err := parse(text); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestOutputOfFailedTestsIsJudged(t *testing.T) {
	for output, want := range map[string]string{
		"--- FAIL: TestX (0.00s)\nFAIL":                  noticed,
		"FAIL	skidway/queue [build failed]":              broken,
		"ERR Error compiling script (new function): x:1": broken,

		"--- FAIL: TestX\nERR Error compiling script (new function): :1: WRONGTYPE stack traceback: [G]": noticed,
		"panic: test timed out after 1m0s":               timedOut,
		"--- FAIL: TestA (0.01s)\npanic: test timed out": noticed,
	} {
		if got, _ := judge(output); got != want {
			t.Errorf("%q is judged %q, want %q", output, got, want)
		}
	}
}

func TestOutputIsWatchedAsCommandsCopyIt(t *testing.T) {
	failures := 0
	w := &failureWatcher{failed: func() { failures++ }}
	text := "=== RUN TestX\n--- FAIL: TestX (0.00s)\n--- FAIL: TestY (0.00s)\n"
	if _, err := io.Copy(w, strings.NewReader(text)); err != nil || failures != 1 || w.output.String() != text {
		t.Errorf("%d failures seen in %q: %v", failures, w.output.String(), err)
	}
}
