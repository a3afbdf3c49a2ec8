package skidway_test

import (
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"skidway/internal/processtest"
)

// publicErrors are aliases of error types whose doc comments list their fields.
var publicErrors = []string{"UnreachableError", "OutcomeUnknownError", "UnconfirmedError", "UnfitServerError"}

func TestPublicAPINamesNoTypeOfAnInternalPackage(t *testing.T) {
	t.Parallel()
	packages := importPublic(t)
	if len(packages) < 10 {
		t.Fatalf("found only %d public packages", len(packages))
	}
	for _, p := range packages {
		for _, name := range p.Scope().Names() {
			object := p.Scope().Lookup(name)
			if !object.Exported() || p.Path() == "skidway" && slices.Contains(publicErrors, name) {
				continue
			}
			for _, use := range internalTypes(object) {
				t.Errorf("%s.%s names %s", p.Path(), name, use)
			}
		}
	}
}

func TestInternalTypesOfADeclarationAreFound(t *testing.T) {
	t.Parallel()
	internal := types.NewPackage("skidway/internal/secret", "secret")
	hidden := types.NewNamed(types.NewTypeName(token.NoPos, internal, "Hidden", nil), types.NewStruct(nil, nil), nil)
	public := types.NewPackage("skidway/public", "public")
	field := func(name string, embedded bool) *types.Struct {
		return types.NewStruct([]*types.Var{types.NewField(token.NoPos, public, name, types.NewPointer(hidden), embedded)}, nil)
	}
	takes := types.NewSignatureType(nil, nil, nil, types.NewTuple(types.NewParam(token.NoPos, public, "h", types.NewSlice(hidden))), nil, false)
	named := func(underlying types.Type) types.Object {
		name := types.NewTypeName(token.NoPos, public, "T", nil)
		types.NewNamed(name, underlying, nil)
		return name
	}
	for name, c := range map[string]struct {
		object types.Object
		found  int
	}{
		"alias":            {types.NewTypeName(token.NoPos, public, "T", hidden), 1},
		"parameter":        {types.NewFunc(token.NoPos, public, "F", takes), 1},
		"variable":         {types.NewVar(token.NoPos, public, "V", types.NewMap(types.Typ[types.String], hidden)), 1},
		"exported field":   {named(field("Field", false)), 1},
		"embedded field":   {named(field("Hidden", true)), 1},
		"unexported field": {named(field("field", false)), 0},
		"function type":    {named(takes), 1},
	} {
		if found := internalTypes(c.object); len(found) != c.found {
			t.Errorf("%s: found %v, want %d", name, found, c.found)
		}
	}
}

// importPublic returns the packages that other modules may import.
func importPublic(t *testing.T) []*types.Package {
	t.Helper()
	output := processtest.ListCompiled(t, "{{.ImportPath}} {{.Name}} {{.Export}}")
	exports := map[string]string{}
	var public []string
	for line := range strings.Lines(output) {
		words := strings.Fields(line)
		if len(words) < 3 {
			continue // package unsafe has no export data
		}
		exports[words[0]] = words[2]
		if ours(words[0]) && !internal(words[0]) && words[1] != "main" {
			public = append(public, words[0])
		}
	}
	imports := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	var packages []*types.Package
	for _, path := range public {
		p, err := imports.Import(path)
		if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
	return packages
}

func ours(path string) bool     { return path == "skidway" || strings.HasPrefix(path, "skidway/") }
func internal(path string) bool { return ours(path) && strings.Contains(path+"/", "/internal/") }

// internalTypes returns the types of internal packages that an exported declaration
// names: in its type, its exported and embedded fields, and its methods' signatures.
func internalTypes(object types.Object) []string {
	var found typeFinder
	declared, isType := object.(*types.TypeName)
	if !isType || declared.IsAlias() {
		found.add(object.Type())
		return found
	}
	found.add(object.Type().Underlying())
	methods := types.NewMethodSet(types.NewPointer(object.Type()))
	for method := range methods.Methods() {
		if method.Obj().Exported() {
			found.add(method.Type())
		}
	}
	return found
}

// A typeFinder collects types of internal packages.
type typeFinder []string

func (f *typeFinder) add(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		f.addName(t.Obj(), t.TypeArgs())
		if t.Obj().Pkg() != nil && !slices.Contains(publicErrors, t.Obj().Name()) {
			f.add(t.Rhs())
		}
	case *types.Named:
		f.addName(t.Obj(), t.TypeArgs())
	case *types.TypeParam:
		f.add(t.Constraint())
	case *types.Map:
		f.add(t.Key())
		f.add(t.Elem())
	case *types.Signature:
		f.add(t.Params())
		f.add(t.Results())
	case *types.Tuple:
		for v := range t.Variables() {
			f.add(v.Type())
		}
	case *types.Struct:
		for field := range t.Fields() {
			if field.Exported() || field.Embedded() {
				f.add(field.Type())
			}
		}
	case *types.Interface:
		for method := range t.Methods() {
			f.add(method.Type())
		}
	case interface{ Elem() types.Type }: // a pointer, slice, array or channel
		f.add(t.Elem())
	}
}

func (f *typeFinder) addName(name *types.TypeName, args *types.TypeList) {
	if name.Pkg() != nil && internal(name.Pkg().Path()) {
		*f = append(*f, name.Pkg().Path()+"."+name.Name())
	}
	for arg := range args.Types() {
		f.add(arg)
	}
}
