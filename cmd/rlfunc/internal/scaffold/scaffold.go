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

	"github.com/rlfunc/rlfunc/examples/templates"
)

//go:embed template
var builders embed.FS

// built maps each file that builds a project to its path in it.
var built = map[string]string{
	"Makefile":      "Makefile",
	"ci.yml":        ".github/workflows/ci.yml",
	"gitignore":     ".gitignore",
	"gitattributes": ".gitattributes",
}

// shareable maps files that a repository may already have to advice on what to add. The plan keeps such files.
var shareable = map[string]string{
	"rlfunc.yaml":              "its functions and gen must be the folders functions and gen",
	"Makefile":                 "add `GOWORK=off go -C tools tool rlfunc -C .. generate --check` and `... vet --run` before its `go test ./...`",
	".github/workflows/ci.yml": "let it run `GOWORK=off go -C tools tool rlfunc -C .. generate --check`, `... vet --run` and `go test ./...`",
	".gitattributes":           "add `functions/** text eol=lf` and `gen/** text eol=lf`",
	".gitignore":               "it must not list functions/ and gen/: commit both",
}

// Options configures a new project.
type Options struct {
	Dir     string
	Library templates.Template
	Module  string // the project's Go module path. Defaults to that of Dir's go.mod, or else to the folder's name.
	Version string // of this module, "v1.2.3"
	Replace string // a folder with this module's source, if Version is not published; "" for none
}

// A Plan lists the changes of a new project to its folder.
type Plan struct {
	Files map[string][]byte // new files, and each go.mod that is extended, by their slash-separated path
	Kept  []string          // a sentence for each existing file that is kept or extended

	undo []func() error // what Write did, each step reversed
}

// New returns the plan of a project in o.Dir. It writes nothing.
func New(o Options) (*Plan, error) {
	p := &Plan{Files: map[string][]byte{}}
	if err := p.modules(&o); err != nil {
		return nil, err
	}
	name, err := packageOf(o.Dir, o.Library.Name)
	if err != nil {
		return nil, err
	}
	library, err := o.Library.Files(o.Module, name)
	if err != nil {
		return nil, err
	}
	maps.Copy(p.Files, library)
	for from, to := range built {
		if p.Files[to], err = builders.ReadFile("template/" + from); err != nil {
			return nil, err
		}
	}
	if err := p.keep(o.Dir); err != nil {
		return nil, err
	}
	slices.Sort(p.Kept)
	return p, nil
}

// keep removes what dir already has from the plan: shareable files, and lib files that another template has brought. It says which
// differ.
func (p *Plan) keep(dir string) error {
	for name, text := range p.Files {
		advice, share := shareable[name]
		if !share && !strings.HasPrefix(name, "functions/lib/") {
			continue
		}
		have, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		switch same := bytes.Equal(have, text); {
		case errors.Is(err, fs.ErrNotExist):
			continue
		case err != nil:
			return err
		case !same && share:
			p.Kept = append(p.Kept, "kept "+name+": "+advice)
		case !same:
			continue // Write reports it
		}
		delete(p.Files, name)
	}
	return nil
}

// Write writes the files into dir. If any but a go.mod exists, it returns an error and writes nothing.
// After another error it undoes what it wrote.
func (p *Plan) Write(dir string) error {
	var taken []string
	for name := range p.Files {
		there, err := exists(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if there && path.Base(name) != "go.mod" {
			taken = append(taken, name)
		}
	}
	if len(taken) > 0 {
		slices.Sort(taken)
		names := strings.Join(taken[:min(len(taken), 3)], ", ")
		if len(taken) > 3 {
			names += fmt.Sprintf(" and %d more", len(taken)-3)
		}
		return fmt.Errorf("%s already has %s: nothing was written; choose another folder", dir, names)
	}
	for name, text := range p.Files {
		if err := p.write(filepath.Join(dir, filepath.FromSlash(name)), text); err != nil {
			return errors.Join(err, p.Undo())
		}
	}
	return nil
}

// Undo removes the files and folders that Write made, and restores each go.mod.
func (p *Plan) Undo() error {
	var failed error
	for _, step := range slices.Backward(p.undo) {
		failed = errors.Join(failed, step())
	}
	return failed
}

func (p *Plan) write(name string, text []byte) error {
	if err := p.makeFolder(filepath.Dir(name)); err != nil {
		return err
	}
	was, err := os.ReadFile(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		p.undo = append(p.undo, func() error { return os.Remove(name) })
	case err != nil:
		return err
	default:
		p.undo = append(p.undo, func() error { return os.WriteFile(name, was, 0o644) })
	}
	return os.WriteFile(name, text, 0o644)
}

func (p *Plan) makeFolder(name string) error {
	if there, err := exists(name); there || err != nil {
		return err
	}
	if err := p.makeFolder(filepath.Dir(name)); err != nil {
		return err
	}
	p.undo = append(p.undo, func() error { return os.Remove(name) })
	return os.Mkdir(name, 0o755)
}

func exists(name string) (bool, error) {
	_, err := os.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
