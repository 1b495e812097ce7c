// Package codegen turns a tree of annotated Lua into everything that rlfunc makes of it: the bundle that Redis loads, clients in Go, Python
// and TypeScript, and reference pages.
//
// [Load] reads a tree and returns it with all findings of vet. From a tree without findings the other functions make files: each is a pure
// function from source to text, so the same source gives the same bytes on any machine. Nothing here writes to disk or talks to Redis; the
// command does that, and generate, --check and tests share one path.
//
// The packages beside this one work on the same trees: [github.com/rlfunc/rlfunc/codegen/spec] is a library's contract as data, breaking
// compares two versions of it, acl writes the rules of Redis users, contract runs functions to prove what their headers promise, and runtime
// makes the library that a loader or client uses without a generated package.
package codegen

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/internal/annotation"
	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/command"
	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/goclient"
	"github.com/rlfunc/rlfunc/codegen/internal/python"
	"github.com/rlfunc/rlfunc/codegen/internal/reference"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/internal/typescript"
	"github.com/rlfunc/rlfunc/codegen/internal/vet"
)

// A Tree is every library below one folder of annotated Lua, and a Library one of them: its contract, and its Lua.
type (
	Tree    = source.Tree
	Library = source.Library
)

// Options of [Load] and [Parse]. The zero value reads the tree unchanged.
type Options = source.Options

// Findings are what is wrong with a tree, sorted; each prints as file:line:col: message (rule).
type (
	Finding  = diag.Diagnostic
	Findings = diag.List
)

// LibraryFile declares a library, and LibDir is the folder of shared Lua.
const (
	LibraryFile = source.LibraryFile
	LibDir      = source.LibDir
)

// Parse reads a tree without vet, which is enough to compare or bundle code that has been vetted before. It returns all findings in the headers.
func Parse(fsys fs.FS, root string, o Options) (*Tree, Findings) { return source.Load(fsys, root, o) }

// Load reads a tree and vets it. The tree is usable only without findings.
func Load(fsys fs.FS, root string, o Options) (*Tree, Findings) {
	tree, found := source.Load(fsys, root, o)
	if len(found) > 0 {
		found = append(found, besides(tree, found)...)
		found.Sort()
		return tree, found
	}
	found = vet.Check(tree)
	for _, lib := range tree.Libraries {
		for i, names := range command.Of(lib) {
			lib.Spec.Functions[i].Command = names
		}
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
	for _, d := range vet.Check(tree) {
		if d.Rule != annotation.RuleUse && !wrong[d.File] || slices.Contains(headerless, d.Rule) { // a file that could not be read may use any lib file
			code = append(code, d)
		}
	}
	return code
}

// headerless are the rules that need no header.
var headerless = []string{"global-write", "sandbox", "random", "portable", "pairs", "unpack"}

// Generate returns every generated file by its slash-separated path below gen/.
func Generate(tree *Tree) (map[string][]byte, error) {
	out := map[string][]byte{}
	for _, lib := range tree.Libraries {
		files, err := goclient.Files(lib)
		if err != nil {
			return nil, fmt.Errorf("generate %s: %w", lib.Spec.Name, err)
		}
		files[lib.Spec.Name+".lua"] = []byte(Bundle(lib))
		files["README.md"] = Reference(lib)
		for name, content := range files {
			out[path.Join(lib.Spec.Name, name)] = content
		}
	}
	return out, nil
}

// Python returns the files of the Python clients of every library, by their slash-separated path below the folder for Python.
func Python(tree *Tree) (map[string][]byte, error) {
	return python.Files(tree.Libraries, bundles(tree))
}

// TypeScript returns the files of the TypeScript clients of every library, by their slash-separated path below the folder for
// TypeScript.
func TypeScript(tree *Tree) (map[string][]byte, error) {
	return typescript.Files(tree.Libraries, bundles(tree))
}

func bundles(tree *Tree) map[string][]byte {
	out := map[string][]byte{}
	for _, lib := range tree.Libraries {
		out[lib.Spec.Name] = []byte(Bundle(lib))
	}
	return out
}

// Bundle returns the code of a library, the argument of FUNCTION LOAD.
func Bundle(lib *Library) string { return bundle.Write(lib) }

// Reference returns the page that documents a library, as Markdown.
func Reference(lib *Library) []byte { return reference.Page(lib) }

// Explain returns the page of a rule of vet, with code that it refuses and the same code corrected. If there is no such rule, it returns the
// IDs of all rules instead.
func Explain(rule string) (page string, rules []string) { return vet.Explain(rule) }
