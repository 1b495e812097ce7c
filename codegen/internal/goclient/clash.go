package goclient

import (
	"go/ast"
	"go/parser"
	"go/token"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
)

// Clashes finds names that would be declared twice in the Go client: two fields of a row, or two types such as AdmitLimitsResult, which
// follows from a function admit_limits and from a result group limits of a function admit.
func Clashes(lib *source.Library) (diag.List, error) {
	files, err := Files(lib)
	if err != nil {
		return nil, err
	}
	var found diag.List
	first := map[string]string{} // by Go name: the function that it is made of
	for _, file := range []string{libraryFile, rowsFile} {
		if files[file] == nil {
			continue
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), "", files[file], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, name := range declared(parsed) {
			if _, taken := first[name]; taken {
				found.Add(lib.Spec.File, lib.Spec.Line, 1, annotation.RuleDuplicate, "two names of rows that lib files declare would both be %s in the Go client: rename one", name)
			}
			first[name] = ""
		}
	}
	for i := range lib.Spec.Functions {
		fn := &lib.Spec.Functions[i]
		parsed, err := parser.ParseFile(token.NewFileSet(), "", files[fileOf(fn)], parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		told := map[string]bool{} // of each other function one name is enough
		for _, name := range declared(parsed) {
			other, taken := first[name]
			if !taken {
				first[name] = fn.Name
				continue
			}
			if told[other] {
				continue
			}
			told[other] = true
			if other == "" {
				found.Add(lib.Files[i].Path, fn.Line, 1, annotation.RuleDuplicate,
					"%s would stand in the Go client twice, for %s and for rows that a lib file declares: rename the function or the lib file", name, fn.Name)
				continue
			}
			if other == fn.Name {
				found.Add(lib.Files[i].Path, fn.Line, 1, annotation.RuleDuplicate, "two names would both be %s in the Go client: rename one", name)
			} else {
				found.Add(lib.Files[i].Path, fn.Line, 1, annotation.RuleDuplicate,
					"%s would stand in the Go client twice, for %s and for %s: rename a function or a group", name, other, fn.Name)
			}
		}
	}
	return found, nil
}

// declared returns the names that a file declares: in its package, as fields and as methods of the client.
func declared(f *ast.File) (names []string) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				names = append(names, d.Name.Name)
			} else if star, ok := d.Recv.List[0].Type.(*ast.StarExpr); ok {
				names = append(names, star.X.(*ast.Ident).Name+"."+d.Name.Name)
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				names = append(names, inSpec(s)...)
			}
		}
	}
	return names
}

func inSpec(s ast.Spec) (names []string) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for _, n := range s.Names {
			names = append(names, n.Name)
		}
	case *ast.TypeSpec:
		names = append(names, s.Name.Name)
		if fields, ok := s.Type.(*ast.StructType); ok {
			for _, field := range fields.Fields.List {
				for _, n := range field.Names {
					names = append(names, s.Name.Name+"."+n.Name)
				}
			}
		}
	}
	return names
}
