package goclient

import (
	"fmt"
	"go/token"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
)

// An importLine is the import of a package of the author.
type importLine struct{ Name, Path string }

var (
	versionElement = regexp.MustCompile(`^v[0-9]+$`)
	notNames       = regexp.MustCompile(`[^A-Za-z0-9_]`)
)

// taken are names that generated files use themselves.
var taken = strings.Fields(`cmp context time redis fcall json p c a r i j reply err pipe ctx slices row rows item pack packer code any bool byte string int64 float64 new make
range len nil true false error append`)

// split returns the import path of a Go type, the name under which a file imports it, and the type's own name.
func split(goType string) (pkg, name, own string) {
	dot := strings.LastIndexByte(goType, '.')
	pkg, own = goType[:dot], goType[dot+1:]
	base := path.Base(pkg)
	if versionElement.MatchString(base) {
		base = path.Base(path.Dir(pkg))
	}
	name = strings.ToLower(notNames.ReplaceAllString(base, ""))
	if slices.Contains(taken, name) || token.IsKeyword(name) || name == "" || name[0] <= '9' {
		name = "pkg" + name
	}
	return pkg, name, own
}

// jsonType returns the Go type of a json field, as files name it.
func jsonType(f spec.Field) string {
	if f.Go == "" {
		return "json.RawMessage"
	}
	_, name, own := split(f.Go)
	return name + "." + own
}

// imports are the packages that a file needs besides those of its template.
type imports struct {
	Time, JSON bool
	Own        []importLine
}

// importsOf returns the imports of a file with these fields.
func importsOf(fields []spec.Field) (imports, error) {
	var out imports
	paths := map[string]string{} // by name
	var visit func([]spec.Field) error
	visit = func(fields []spec.Field) error {
		for _, f := range fields {
			out.Time = out.Time || f.Kind == spec.KindDuration || f.Kind == spec.KindTime
			out.JSON = out.JSON || f.Kind == spec.KindJSON && f.Go == ""
			if f.Go != "" {
				pkg, name, _ := split(f.Go)
				if other, clash := paths[name]; clash && other != pkg {
					return fmt.Errorf("%s and %s would both be imported as %s: use a type of one of them", other, pkg, name)
				}
				paths[name] = pkg
			}
			if err := visit(f.Fields); err != nil {
				return err
			}
		}
		return nil
	}
	if err := visit(fields); err != nil {
		return out, err
	}
	for _, name := range slices.Sorted(maps.Keys(paths)) {
		line := importLine{Name: name, Path: paths[name]}
		if path.Base(line.Path) == name {
			line.Name = "" // as Go would call it
		}
		out.Own = append(out.Own, line)
	}
	return out, nil
}
