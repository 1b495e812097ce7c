package examples

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The packages whose identifiers pages name, by the name of the package there.
var named = map[string]string{
	"fcall": "../fcall", "loader": "../loader", "guard": "../guard", "policy": "../guard/policy", "identity": "../guard/identity",
	"httpguard": "../guard/httpguard", "grpcguard": "../guard/grpcguard", "telemetry": "../guard/telemetry", "report": "../guard/report",
	"luatest": "../lua_test",
}

// A page that names fcall.Options.Mode, or ErrState, names what the code has.
func TestPages_nameIdentifiersOfTheCode(t *testing.T) {
	known := map[string]bool{}
	for name, dir := range named {
		declared(t, name, dir, known)
	}
	inCode := regexp.MustCompile("`[^`\n]+`")
	qualified := regexp.MustCompile(`\b([a-z]+)((?:\.[A-Z]\w*)+)`)
	sentinel := regexp.MustCompile(`^\x60(Err[A-Z]\w*|Options(?:\.[A-Z]\w*)+)\x60$`)
	for _, page := range pages(t) {
		if strings.Contains(page, "CHANGELOG") {
			continue
		}
		for _, code := range inCode.FindAllString(read(t, page), -1) {
			for _, m := range qualified.FindAllStringSubmatch(code, -1) {
				if named[m[1]] != "" && !known[m[0]] {
					t.Errorf("%s names %s, which the code does not have", page, m[0])
				}
			}
			if m := sentinel.FindStringSubmatch(code); m != nil && !known[m[1]] {
				t.Errorf("%s names %s, which no package has", page, m[1])
			}
		}
	}
}

// declared adds a package's exported identifiers to known: Name, pkg.Name, and with fields and methods pkg.Type.Name.
func declared(t *testing.T, name, dir string, known map[string]bool) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: %v %v", dir, files, err)
	}
	add := func(parts ...string) {
		known[name+"."+strings.Join(parts, ".")] = true
		known[strings.Join(parts, ".")] = true
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range parsed.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Recv == nil {
					add(d.Name.Name)
					continue
				}
				of := d.Recv.List[0].Type
				if star, ok := of.(*ast.StarExpr); ok {
					of = star.X
				}
				if of, ok := of.(*ast.Ident); ok {
					add(of.Name, d.Name.Name)
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						for _, n := range s.Names {
							add(n.Name)
						}
					case *ast.TypeSpec:
						add(s.Name.Name)
						fields := &ast.FieldList{}
						switch of := s.Type.(type) {
						case *ast.StructType:
							fields = of.Fields
						case *ast.InterfaceType:
							fields = of.Methods
						}
						for _, f := range fields.List {
							for _, n := range f.Names {
								add(s.Name.Name, n.Name)
							}
						}
					}
				}
			}
		}
	}
}
