// Package codegen turns a tree of annotated Lua into the files of gen/: bundles, Go clients and reference pages.
//
// It is a pure function from source to a map of files. It touches no disk and no Redis: the command writes the files, and
// generate, check and the tests share one path.
package codegen

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/rlfunc/rlfunc/internal/codegen/annotation"
	"github.com/rlfunc/rlfunc/internal/codegen/bundle"
	"github.com/rlfunc/rlfunc/internal/codegen/diag"
	"github.com/rlfunc/rlfunc/internal/codegen/goclient"
	"github.com/rlfunc/rlfunc/internal/codegen/python"
	"github.com/rlfunc/rlfunc/internal/codegen/reference"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
	"github.com/rlfunc/rlfunc/internal/codegen/typescript"
	"github.com/rlfunc/rlfunc/internal/codegen/vet"
)

// Load reads a tree and vets it. The tree is usable only without findings.
func Load(fsys fs.FS, root string, o source.Options) (*source.Tree, diag.List) {
	tree, found := source.Load(fsys, root, o)
	if len(found) > 0 {
		found = append(found, besides(tree, found)...)
		found.Sort()
		return tree, found
	}
	found = examine(tree)
	for _, lib := range tree.Libs {
		lib.CheckRules(&found)
	}
	for _, lib := range tree.Libraries {
		clashes, err := goclient.Clashes(lib)
		if err != nil {
			found.Add(lib.Spec.File, 1, 1, annotation.RuleName, "cannot generate the Go client: %v", err)
		}
		found = append(found, clashes...)
	}
	found.Sort()
	return tree, found
}

// besides returns the findings in the code of a tree whose headers have findings. Most rules compare a file with its keys, arguments and
// results; if these are wrong, only rules that need none of them apply.
func besides(tree *source.Tree, found diag.List) (code diag.List) {
	wrong := map[string]bool{}
	for _, d := range found {
		wrong[d.File] = wrong[d.File] || !slices.Contains(annotation.BesideContract, d.Rule)
	}
	for _, d := range vet.Examine(tree).Found {
		if d.Rule != annotation.RuleUse && !wrong[d.File] || headerless[d.Rule] { // a file that could not be read may use any lib file
			code = append(code, d)
		}
	}
	return code
}

var headerless = map[string]bool{
	vet.RuleGoto: true, vet.RuleGlobalWrite: true, vet.RuleSandbox: true, vet.RuleRandom: true, vet.RuleSetresp: true, vet.RuleMultipleAssignment: true,
	vet.RulePairs: true, vet.RulePortable: true, vet.RuleUnpack: true, vet.RuleTooManyLocals: true,
}

// examine vets the tree, and fills in the Redis commands that each function may run.
func examine(tree *source.Tree) diag.List {
	report := vet.Examine(tree)
	for l, lib := range tree.Libraries {
		for i := range lib.Spec.Functions {
			// The generated entry calls TYPE for a key of an unexpected type.
			all := append(report.Commands[l][i], "TYPE")
			slices.Sort(all)
			lib.Spec.Functions[i].Command = slices.Compact(all)
		}
	}
	return report.Found
}

// Generate returns every generated file by its slash-separated path below gen/.
func Generate(tree *source.Tree) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, lib := range tree.Libraries {
		files, err := Library(lib)
		if err != nil {
			return nil, err
		}
		for name, content := range files {
			out[path.Join(lib.Spec.Name, name)] = content
		}
	}
	return out, nil
}

// Python returns the files of the Python clients of every library, by their slash-separated path below the folder for Python.
func Python(tree *source.Tree) (map[string][]byte, error) {
	return python.Files(tree.Libraries, Bundles(tree))
}

// TypeScript returns the files of the TypeScript clients of every library, by their slash-separated path below the folder for
// TypeScript.
func TypeScript(tree *source.Tree) (map[string][]byte, error) {
	return typescript.Files(tree.Libraries, Bundles(tree))
}

// Bundles returns the code of each library by name.
func Bundles(tree *source.Tree) map[string][]byte {
	out := map[string][]byte{}
	for _, lib := range tree.Libraries {
		out[lib.Spec.Name] = []byte(bundle.Write(lib).Code)
	}
	return out
}

// Library returns the generated files of one library by name.
func Library(lib *source.Library) (map[string][]byte, error) {
	b := bundle.Write(lib)
	out, err := goclient.Files(lib, b)
	if err != nil {
		return nil, fmt.Errorf("generate %s: %w", lib.Spec.Name, err)
	}
	out[lib.Spec.Name+".lua"] = []byte(b.Code)
	out["README.md"] = reference.Page(lib)
	return out, nil
}
