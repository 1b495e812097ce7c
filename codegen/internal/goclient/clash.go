package goclient

import (
	"go/ast"
	"go/parser"
	"go/token"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// Clashes finds names that would be declared twice in the Go client: two fields of a row, or two types such as AdmitLimitsResult, which
// follows from a function admit_limits and from a result group limits of a function admit.
func Clashes(lib *source.Library) (diag.List, error) {
	files, err := Files(lib)
	if err != nil {
		return nil, err
	}
	var found diag.List
	first := map[string]string{} // by Go name: the file that has it, and what that is made of
	read := func(file, of string, at *spec.Function) error {
		parsed, err := parser.ParseFile(token.NewFileSet(), "", files[file], parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		told := map[string]bool{} // of each other file one name is enough
		for _, name := range declared(parsed) {
			other, taken := first[name]
			switch {
			case !taken:
				first[name] = of
			case told[other]:
			case other == of:
				told[other] = true
				found.Add(at.File, at.Line, 1, annotation.RuleDuplicate, "two names of %s would both be %s in the Go client: rename one", of, name)
			default:
				told[other] = true
				found.Add(at.File, at.Line, 1, annotation.RuleDuplicate, "%s would stand in the Go client twice, for %s and for %s: rename one", name, other, of)
			}
		}
		return nil
	}
	library := &spec.Function{File: lib.Spec.File, Line: lib.Spec.Line}
	if err := read(libraryFile, "the client itself", library); err != nil {
		return nil, err
	}
	if files[rowsFile] != nil {
		if err := read(rowsFile, "rows that a lib file declares", library); err != nil {
			return nil, err
		}
	}
	for i := range lib.Spec.Functions {
		fn := &lib.Spec.Functions[i]
		if err := read(fileOf(fn), fn.Name, fn); err != nil {
			return nil, err
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
