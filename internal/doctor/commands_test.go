package doctor

import (
	"go/ast"
	"go/constant"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"skidway/internal/processtest"
	"skidway/internal/redistest"
)

// notNeeded are calls of Skidway that may be denied.
var notNeeded = []string{
	"info",            // a server that hides it is taken as fit
	"wait", "waitaof", // only durable jobs need them
	"client", // of CLIENT TRACKING, which has a check of its own
}

func TestAccessIsCheckedForTheCommandsThatSkidwaySends(t *testing.T) {
	t.Parallel()
	names, err := redistest.Open(t, redistest.Start(t).URL(0)).Do(t.Context(), "command", "list").StringSlice()
	if err != nil {
		t.Fatal(err)
	}
	sent := map[string]string{"eval": "rdb.Script", "evalsha": "rdb.Script"} // by name: the place of one call
	scanLua(t, "../..", names, sent)
	scanGo(t, names, sent)
	var listed []string
	for line := range strings.Lines(strings.TrimSpace(needed)) {
		listed = append(listed, rule(strings.Fields(line)))
	}
	for name, place := range sent {
		if !slices.Contains(listed, name) && !slices.Contains(notNeeded, name) {
			t.Errorf("%s sends %s, which is not checked", place, name)
		}
	}
	for _, name := range listed {
		if sent[name] == "" {
			t.Errorf("%s is checked, and nothing sends it", name)
		}
	}
}

// literal matches texts in capitals and a text that follows, which may be the
// second word of a command.
var literal = regexp.MustCompile(`'([A-Z]+)'(?:, '([A-Z]+)')?`)

// scanLua adds the commands that the scripts below a folder name.
func scanLua(t *testing.T, folder string, names []string, sent map[string]string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".lua" {
			return err
		}
		text, err := os.ReadFile(path)
		for _, words := range literal.FindAllStringSubmatch(string(text), -1) {
			if slices.Contains(names, strings.ToLower(words[1])) {
				sent[rule(append(words[1:], ""))] = path
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// scanGo adds the commands that calls of the Redis client send, in all packages
// but the benchmarks, this one, and those for tests.
func scanGo(t *testing.T, names []string, sent map[string]string) {
	t.Helper()
	output := processtest.ListCompiled(t,
		"{{.ImportPath}}\t{{.Export}}\t{{if not .DepOnly}}{{range .GoFiles}} {{$.Dir}}/{{.}}{{end}}{{end}}")
	exports, sources := map[string]string{}, map[string][]string{}
	for line := range strings.Lines(output) {
		fields := strings.Split(line, "\t")
		exports[fields[0]] = fields[1]
		if path := fields[0]; path != "skidway/internal/doctor" && !strings.HasSuffix(path, "test") {
			sources[path] = strings.Fields(fields[2])
		}
	}
	set := token.NewFileSet()
	imports := importer.ForCompiler(set, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	for path, files := range sources {
		var parsed []*ast.File
		for _, name := range files {
			file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			parsed = append(parsed, file)
		}
		info := &types.Info{Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{}}
		if _, err := (&types.Config{Importer: imports}).Check(path, set, parsed, info); err != nil {
			t.Fatal(err)
		}
		for _, file := range parsed {
			ast.Inspect(file, func(node ast.Node) bool {
				call, _ := node.(*ast.CallExpr)
				if place := set.Position(file.Pos()).Filename; call != nil && !strings.Contains(place, "bench") {
					for _, name := range commandsOf(info, names, call) {
						sent[name] = place
					}
				}
				return true
			})
		}
	}
}

// commandsOf returns the commands that a call of the Redis client sends, as rule
// does; none for other calls.
func commandsOf(info *types.Info, names []string, call *ast.CallExpr) []string {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return nil
	}
	f, ok := info.Uses[selector.Sel].(*types.Func)
	if !ok || f.Pkg() == nil || f.Pkg().Path() != "github.com/redis/go-redis/v9" {
		return nil
	}
	switch method := f.Name(); {
	case method == "Watch":
		return []string{"watch", "unwatch"}
	case method == "XGroupCreateMkStream":
		return []string{"xgroup|create"}
	case method == "Do" || strings.HasSuffix(method, "Cmd") && len(call.Args) > 1: // of the words given
		name := "a command that is computed"
		for _, arg := range slices.Backward(call.Args) {
			ast.Inspect(arg, func(node ast.Node) bool {
				expr, _ := node.(ast.Expr)
				word := info.Types[expr].Value
				if word != nil && word.Kind() == constant.String {
					name = constant.StringVal(word)
				}
				return true
			})
		}
		return []string{name}
	case !sends(f):
		return nil
	default: // the longest command that begins the method's name
		lower, longest := strings.ToLower(method), ""
		for _, name := range names {
			if strings.HasPrefix(lower, name) && len(name) > len(longest) {
				longest = name
			}
		}
		return []string{rule([]string{longest, lower[len(longest):]})}
	}
}

// sends reports whether a function of the client returns a single command.
func sends(f *types.Func) bool {
	results := f.Signature().Results()
	return results.Len() == 1 && types.Implements(results.At(0).Type(), f.Pkg().Scope().Lookup("Cmder").Type().Underlying().(*types.Interface))
}
