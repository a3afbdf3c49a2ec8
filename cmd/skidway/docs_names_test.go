package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"html"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/spf13/cobra"

	"skidway/cmd/skidway/internal/cli"
	"skidway/ops/access"
	"skidway/queue"
)

// TestNamesInDocumentsExist checks what documents name in code spans: commands
// with their flags, make targets, tests, files, settings, and Go names as
// queue.Client.Enqueue, also unexported ones. Commands of sh blocks are checked in
// the same way.
func TestNamesInDocumentsExist(t *testing.T) {
	t.Parallel()
	known := readNames(t)
	for _, d := range readDocuments(t) {
		for _, name := range metricName.FindAllString(d.text(), -1) {
			if !known.isMetric(name) {
				t.Errorf("%s: %s: no such metric", d.path, name)
			}
		}
		for _, span := range spans(d) {
			if problem := known.check(d, span); problem != "" {
				t.Errorf("%s: `%s`: %s", d.path, span, problem)
			}
		}
	}
}

var drawnCommand = regexp.MustCompile(`>\$ (skidway [^<]+)<`)

func TestCommandsOfThePictureExist(t *testing.T) {
	t.Parallel()
	picture, err := os.ReadFile(filepath.Join(moduleRoot, "docs", "session.svg"))
	if err != nil {
		t.Fatal(err)
	}
	known, commands := readNames(t), drawnCommand.FindAllStringSubmatch(string(picture), -1)
	if len(commands) == 0 {
		t.Error("docs/session.svg shows no command")
	}
	for _, command := range commands {
		if problem := known.check(document{}, html.UnescapeString(command[1])); problem != "" {
			t.Errorf("docs/session.svg: %s: %s", command[1], problem)
		}
	}
}

var metricName = regexp.MustCompile(`\bskidway_[a-z_]+`)

// isMetric reports whether the code has the name of a metric, which it may put
// together of parts.
func (n *names) isMetric(name string) bool {
	if n.literals[name] {
		return true
	}
	name = strings.TrimPrefix(strings.TrimPrefix(name, "skidway_"), "log_")
	return n.literals[name] || n.literals[strings.TrimSuffix(name, "_total")] || n.literals[strings.TrimSuffix(name, "_seconds")]
}

var codeSpan = regexp.MustCompile("`([^`]+)`")

// spans returns the code spans of a document and the commands of its sh blocks.
func spans(d document) (list []string) {
	for _, found := range codeSpan.FindAllStringSubmatch(qualifyMethods(d.prose), -1) {
		list = append(list, strings.Join(strings.Fields(found[1]), " "))
	}
	for _, b := range d.blocks {
		if b.language == "sh" {
			for line := range strings.Lines(b.text) {
				command, _, _ := strings.Cut(line, " #")
				list = append(list, strings.TrimSpace(command))
			}
		}
	}
	return list
}

var (
	headOfMethods = regexp.MustCompile("^\\| call of `([a-z]+\\.[A-Z]\\w*)`")
	methodSpan    = regexp.MustCompile("`([A-Z]\\w*)`")
)

// qualifyMethods writes a type before its methods, in tables whose heading is
// "call of" that type.
func qualifyMethods(prose string) string {
	var text strings.Builder
	of := ""
	for line := range strings.Lines(prose) {
		if found := headOfMethods.FindStringSubmatch(line); found != nil {
			of = found[1]
		} else if !strings.HasPrefix(line, "|") {
			of = ""
		} else if of != "" {
			line = methodSpan.ReplaceAllString(line, "`"+of+".$1`")
		}
		text.WriteString(line)
	}
	return text.String()
}

// names are the names that there are.
type names struct {
	goNames  map[string]map[string]bool // package → Name, Type.Method, Type.Field
	tests    map[string][]string        // folder → names of tests
	targets  []string                   // of make
	settings []string                   // of the worker's configuration
	literals map[string]bool            // strings in the code
	root     *cobra.Command
}

func readNames(t *testing.T) names {
	t.Helper()
	known := names{
		goNames: map[string]map[string]bool{}, tests: map[string][]string{}, literals: map[string]bool{},
		root: root(&cli.App{Console: &cli.Console{}}),
	}
	err := filepath.WalkDir(moduleRoot, func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".go" {
			err = known.readFile(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	makefile, err := os.ReadFile(filepath.Join(moduleRoot, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(string(makefile), -1) {
		known.targets = append(known.targets, found[1])
	}
	known.settings = strings.Fields(mustRun(t, "", "config", "variables").stdout)
	return known
}

func (n *names) readFile(path string) error {
	file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	folder := filepath.Dir(path)
	isTest := strings.HasSuffix(path, "_test.go")
	declared := n.goNames[file.Name.Name]
	if declared == nil {
		declared = map[string]bool{}
		n.goNames[file.Name.Name] = declared
	}
	ast.Inspect(file, func(node ast.Node) bool {
		if literal, ok := node.(*ast.BasicLit); ok && literal.Kind == token.STRING && !isTest {
			text, _ := strconv.Unquote(literal.Value)
			n.literals[text] = true
		}
		return true
	})
	for _, declaration := range file.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if isTest {
				n.tests[folder] = append(n.tests[folder], d.Name.Name)
				continue
			}
			declared[receiver(d)+d.Name.Name] = true
		case *ast.GenDecl:
			if !isTest {
				declare(declared, d)
			}
		}
	}
	return nil
}

// receiver returns the type of a method with a dot, nothing for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	for {
		switch t := of.(type) {
		case *ast.StarExpr:
			of = t.X
		case *ast.IndexExpr:
			of = t.X
		case *ast.IndexListExpr:
			of = t.X
		case *ast.Ident:
			return t.Name + "."
		}
	}
}

// declare adds constants, variables and types with their fields and methods.
func declare(declared map[string]bool, d *ast.GenDecl) {
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.ValueSpec:
			for _, name := range s.Names {
				declared[name.Name] = true
			}
		case *ast.TypeSpec:
			declared[s.Name.Name] = true
			var fields *ast.FieldList
			switch of := s.Type.(type) {
			case *ast.StructType:
				fields = of.Fields
			case *ast.InterfaceType:
				fields = of.Methods
			default:
				continue
			}
			for _, field := range fields.List {
				for _, name := range field.Names {
					declared[s.Name.Name+"."+name.Name] = true
				}
			}
		}
	}
}

var (
	dotted   = regexp.MustCompile(`^([a-z_]+)\.([A-Za-z_.]+)(\(\))?$`)
	filePath = regexp.MustCompile(`^[A-Za-z0-9_.*-]+(/[A-Za-z0-9_.*-]*)*$`)
	testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]\w*$`)
)

// ourFiles are the endings of files that documents may only name if they exist.
var ourFiles = []string{".go", ".lua", ".md", ".sh", ".yaml", ".service", ".mod", ".svg"}

func TestEverySettingIsDocumented(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	ofAKind := regexp.MustCompile(`^kinds\..*\.(timeout|max_attempts|backoff\..*)$`)
	for line := range strings.Lines(skidway(t, "", "config", "variables").stdout) {
		setting := strings.Fields(line)[0]
		if !ofAKind.MatchString(setting) && !strings.Contains(string(page), "`"+setting+"`") {
			t.Errorf("docs/configuration.md does not have %s", setting)
		}
	}
}

// Built-in kinds of jobs; they look like Go names.
var builtIn = sync.OnceValue(func() []string {
	page, _ := os.ReadFile("../../docs/kinds.md") // in which a test of package kinds finds each one
	list := []string{queue.Forward}
	for _, heading := range regexp.MustCompile(`(?m)^## ([a-z]+\.[a-z]+)$`).FindAllSubmatch(page, -1) {
		list = append(list, string(heading[1]))
	}
	return list
})

// What the built-in kinds do must be allowed by name.
func TestEveryBuiltInKindMustBeNamedByAScope(t *testing.T) {
	t.Parallel()
	scopes, err := access.ParseScopes([]string{"enqueue:*"})
	if err != nil {
		t.Fatal(err)
	}
	anyKind := &access.Principal{Scopes: scopes}
	if !anyKind.MayAdd("mail", "news") || len(builtIn()) < 7 {
		t.Errorf("the scope allows no kind, or %q are not all", builtIn())
	}
	for _, kind := range builtIn() {
		group, _, _ := strings.Cut(kind, ".")
		if anyKind.MayAdd("mail", kind) {
			t.Errorf("a scope of all kinds allows %s: put %s. into the list namedKinds of ops/access/scope.go", kind, group)
		}
		for _, file := range []string{"../../ops/access/doc.go", "../../docs/access.md", "internal/serve/user.go"} {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(text), group+".") {
				t.Errorf("%s does not tell that kinds below %s. must be named", file, group)
			}
		}
	}
}

// check returns what is wrong with a span, nothing if it is right or no name.
func (n *names) check(d document, span string) string {
	words := strings.Fields(span)
	switch {
	case len(words) == 0:
		return ""
	case words[0] == "skidway" && len(words) > 1:
		return n.checkCommand(words[1:])
	case words[0] == "make" && len(words) > 1:
		if !slices.Contains(n.targets, words[1]) {
			return "no such target of make"
		}
	case strings.HasPrefix(span, "go test "):
		return n.checkTest(words[2:])
	case strings.HasPrefix(span, "go doc "):
		if !exists(strings.TrimPrefix(words[2], "skidway")) {
			return "no such package"
		}
	case testName.MatchString(span):
		if !slices.ContainsFunc(n.allTests(), func(name string) bool { return name == span }) {
			return "no such test"
		}
	case strings.HasPrefix(span, "--") && span != "--" && span != "--help":
		if !n.anyFlag(strings.TrimLeft(words[0], "-")) {
			return "no command has this flag"
		}
	case filePath.MatchString(span) && (slices.Contains(ourFiles, filepath.Ext(span)) || isFolder(span)):
		if !exists(span) && !d.makes(span) {
			return "no such file"
		}
	case dotted.MatchString(span):
		return n.checkDotted(span)
	}
	return ""
}

// isFolder reports whether a path begins with a folder of the module.
func isFolder(path string) bool {
	first, _, deep := strings.Cut(path, "/")
	return deep && exists(first)
}

func exists(pattern string) bool {
	found, err := filepath.Glob(filepath.Join(moduleRoot, pattern))
	return err == nil && len(found) > 0
}

// makes reports whether a block of the document is this file.
func (d document) makes(name string) bool {
	return slices.ContainsFunc(d.blocks, func(b block) bool { return b.file() == name })
}

// checkCommand checks a command line of skidway: its command, and its flags.
func (n *names) checkCommand(words []string) string {
	command := n.root
	for len(words) > 0 {
		next := slices.IndexFunc(command.Commands(), func(c *cobra.Command) bool { return c.Name() == words[0] })
		if next < 0 {
			break
		}
		command, words = command.Commands()[next], words[1:]
	}
	if command.HasSubCommands() && len(words) > 0 && words[0] != "help" && words[0] != "completion" && !strings.HasPrefix(words[0], "-") {
		return "no such command"
	}
	for _, word := range words {
		flag, isFlag := strings.CutPrefix(word, "--")
		name, _, _ := strings.Cut(flag, "=")
		if isFlag && name != "" && name != "help" && command.Flags().Lookup(name) == nil && command.InheritedFlags().Lookup(name) == nil {
			return "the command has no flag --" + name
		}
	}
	return ""
}

func (n *names) anyFlag(name string) bool {
	name, _, _ = strings.Cut(name, "=")
	found := false
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		found = found || c.Flags().Lookup(name) != nil || c.PersistentFlags().Lookup(name) != nil
		for _, below := range c.Commands() {
			visit(below)
		}
	}
	visit(n.root)
	return found
}

// checkTest checks the arguments of go test: that each alternative of -run or
// -bench names a test of the packages.
func (n *names) checkTest(words []string) string {
	var pattern, folders []string
	for i, word := range words {
		switch {
		case word == "-run" || word == "-bench":
			pattern = strings.Split(strings.ReplaceAll(strings.Trim(words[i+1], "'"), `\|`, "|"), "|")
		case strings.HasPrefix(word, "./"):
			folders = append(folders, filepath.Join(moduleRoot, word))
		}
	}
	for _, name := range pattern {
		if !slices.ContainsFunc(n.testsOf(folders), func(test string) bool { return strings.Contains(test, name) }) {
			return "no test for " + name
		}
	}
	if len(n.testsOf(folders)) == 0 {
		return "no tests there"
	}
	return ""
}

// testsOf returns the tests of folders; one that ends with ... stands for all
// below it.
func (n *names) testsOf(folders []string) (list []string) {
	for folder, tests := range n.tests {
		if slices.ContainsFunc(folders, func(of string) bool {
			above, deep := strings.CutSuffix(of, "...")
			return folder == of || deep && strings.HasPrefix(folder+"/", above)
		}) {
			list = append(list, tests...)
		}
	}
	return list
}

func (n *names) allTests() (list []string) {
	for _, tests := range n.tests {
		list = append(list, tests...)
	}
	return list
}

// checkDotted checks a Go name with its package, a kind of jobs, or a setting.
func (n *names) checkDotted(span string) string {
	if slices.Contains(builtIn(), span) || slices.ContainsFunc(n.settings, func(setting string) bool {
		return setting == span || strings.HasPrefix(setting, span+".")
	}) {
		return ""
	}
	found := dotted.FindStringSubmatch(span)
	declared, isPackage := n.goNames[found[1]]
	switch {
	case !isPackage:
		return "no package, kind or setting has this name"
	case !declared[found[2]]:
		return "the package declares no such name"
	}
	return ""
}
