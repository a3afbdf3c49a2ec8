package queue

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// declarations returns the declarations of the package by their files, without tests.
func declarations(t *testing.T) map[string][]ast.Decl {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string][]ast.Decl{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		found[file] = parsed.Decls
	}
	return found
}

// maxMethods bounds the methods of a type, with those that are not exported. A type with
// more of them wants to be two types.
const maxMethods = 30

func TestTypesHaveFewMethods(t *testing.T) {
	methods := map[string]int{}
	for _, all := range declarations(t) {
		for _, declaration := range all {
			if d, ok := declaration.(*ast.FuncDecl); ok {
				methods[receiverType(d)]++
			}
		}
	}
	delete(methods, "") // functions
	if methods["Queue"] == 0 {
		t.Errorf("the methods are not complete: %v", methods)
	}
	for name, n := range methods {
		if n > maxMethods {
			t.Errorf("%s has %d methods, want at most %d", name, n, maxMethods)
		}
	}
}

// maxNames bounds the exported names outside the files pool_*.go, which have the
// protocol of worker pools. A new name must be worth more than an old one.
const maxNames = 120

func TestExportedNamesOutsideThePoolProtocolStayFew(t *testing.T) {
	var names []string
	for file, all := range declarations(t) {
		if file == "pool.go" || strings.HasPrefix(file, "pool_") {
			continue
		}
		for _, declaration := range all {
			names = append(names, exportedNames(declaration)...)
		}
	}
	slices.Sort(names)
	if !slices.Contains(names, "Client.Enqueue") || !slices.Contains(names, "ErrInvalid") {
		t.Errorf("the names are not complete: %q", names)
	}
	if len(names) > maxNames {
		t.Errorf("%d exported names, want at most %d: %q", len(names), maxNames, names)
	}
}

// exportedNames returns the exported types, functions, methods of exported types,
// constants and variables of a declaration.
func exportedNames(declaration ast.Decl) (names []string) {
	switch d := declaration.(type) {
	case *ast.FuncDecl:
		if receiver := receiverType(d); d.Name.IsExported() && (receiver == "" || ast.IsExported(receiver)) {
			names = append(names, strings.TrimPrefix(receiver+"."+d.Name.Name, "."))
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				names = append(names, s.Name.Name)
			case *ast.ValueSpec:
				for _, name := range s.Names {
					names = append(names, name.Name)
				}
			}
		}
		names = slices.DeleteFunc(names, func(name string) bool { return !ast.IsExported(name) })
	}
	return names
}

// receiverType returns the name of the receiver's type, "" for a function.
func receiverType(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	if pointer, ok := t.(*ast.StarExpr); ok {
		t = pointer.X
	}
	if name, ok := t.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
