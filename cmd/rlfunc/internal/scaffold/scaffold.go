// Package scaffold creates a project: an annotated function, its test, and the files that build them.
package scaffold

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/txtar"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/functions"
)

//go:embed template
var template embed.FS

// paths maps each file of the template to its path in a project.
var paths = map[string]string{
	"Makefile":      "Makefile",
	"ci.yml":        ".github/workflows/ci.yml",
	"gitignore":     ".gitignore",
	"gitattributes": ".gitattributes",
	"rlfunc.yaml":   "rlfunc.yaml",
}

// first maps the files of the first library, and of its test.
var first = map[string]string{
	"library.lua":       "functions/quota/library.lua",
	"take.lua":          "functions/quota/take.lua",
	"quota_test.go.txt": "quota_test.go",
}

// Example is a call of the first function, for rlfunc call.
const Example = "quota.take subject=user42 limit=10 period=1m"

// shareable maps files that a repository may already have to advice on what to add. The plan keeps such files.
var shareable = map[string]string{
	"Makefile":                 "add `GOWORK=off go -C tools tool rlfunc -C .. generate --check` and `... vet --run` before its `go test ./...`",
	".github/workflows/ci.yml": "let it run `GOWORK=off go -C tools tool rlfunc -C .. generate --check`, `... vet --run` and `go test ./...`",
	".gitattributes":           "add `functions/** text eol=lf` and `gen/** text eol=lf`",
	".gitignore":               "it must not list functions/ and gen/: commit both",
}

// Options configures a new project.
type Options struct {
	Dir     string
	Empty   bool   // no first library
	Module  string // the project's Go module path. Defaults to that of Dir's go.mod, or else to the folder's name.
	Version string // of this module, "v1.2.3"
	Replace string // a folder with this module's source, if Version is not published; "" for none
}

// A Plan lists the changes of a new project to its folder.
type Plan struct {
	Files map[string][]byte // new files, and each go.mod that is extended, by their slash-separated path
	Kept  []string          // a sentence for each existing file that is kept or extended
}

// New returns the plan of a project in o.Dir. It writes nothing.
func New(o Options) (*Plan, error) {
	p := &Plan{Files: map[string][]byte{}}
	if err := p.modules(&o); err != nil {
		return nil, err
	}
	pkg, err := packageOf(o.Dir, "quota")
	if err != nil {
		return nil, err
	}
	fill := strings.NewReplacer("MODULE/gen/", o.Module+"/gen/", "package PACKAGE_test\n", "package "+pkg+"_test\n")
	files, lib := maps.Clone(paths), []string{"lib/clock.lua"} // copies of shared Lua
	if !o.Empty {
		maps.Copy(files, first)
		lib = append(lib, "lib/refusal.lua") // which that uses
	}
	for from, to := range files {
		text, err := template.ReadFile("template/" + from)
		if err != nil {
			return nil, err
		}
		p.Files[to] = []byte(fill.Replace(string(text)))
	}
	for _, name := range lib {
		if p.Files["functions/"+name], err = functions.FS.ReadFile(name); err != nil {
			return nil, err
		}
	}
	if !o.Empty {
		if err := p.generate(); err != nil {
			return nil, err
		}
	}
	return p, p.keep(o.Dir)
}

// generate adds what rlfunc generate makes of the first library.
func (p *Plan) generate() error {
	var sources txtar.Archive
	for name, text := range p.Files {
		if below, ok := strings.CutPrefix(name, "functions/"); ok {
			sources.Files = append(sources.Files, txtar.File{Name: below, Data: text})
		}
	}
	fsys, err := txtar.FS(&sources)
	if err != nil {
		return err
	}
	tree, found := codegen.Load(fsys, "functions", codegen.Options{})
	if err := found.Err(); err != nil {
		return err
	}
	made, err := codegen.Generate(tree)
	for name, text := range made {
		p.Files["gen/"+name] = text
	}
	return err
}

// keep removes the shareable files that dir already has from the plan. It says which differ. Any other file that is there is an error.
func (p *Plan) keep(dir string) error {
	var taken []string
	for name, text := range p.Files {
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		advice, share := shareable[name]
		switch {
		case errors.Is(err, fs.ErrNotExist) || path.Base(name) == "go.mod":
		case err != nil:
			return err
		case !share:
			taken = append(taken, name)
		default:
			if !bytes.Equal(have, text) {
				p.Kept = append(p.Kept, "kept "+name+": "+advice)
			}
			delete(p.Files, name)
		}
	}
	slices.Sort(p.Kept)
	if len(taken) == 0 {
		return nil
	}
	slices.Sort(taken)
	return fmt.Errorf("%s already has %s: nothing was written; choose another folder", dir, strings.Join(taken, ", "))
}

// Write writes the files into dir.
func (p *Plan) Write(dir string) error {
	for name, text := range p.Files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
