// Package scaffold makes a new project: a first annotated function, its test, and what builds them.
package scaffold

import (
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/functions"
)

//go:embed template
var templates embed.FS

// files says where each template goes.
var files = map[string]string{
	"rlfunc.yaml":      "rlfunc.yaml",
	"library.lua":      "functions/quota/library.lua",
	"take.lua":         "functions/quota/take.lua",
	"take_test.go.txt": "take_test.go",
	"Makefile":         "Makefile",
	"ci.yml":           ".github/workflows/ci.yml",
	"gitignore":        ".gitignore",
}

// shared are the lib files of this module that the first function uses.
var shared = []string{"lib/clock.lua", "lib/refusal.lua"}

// Options of a new project.
type Options struct {
	Dir     string
	Module  string // the project's Go module path. Defaults to the folder's name.
	Version string // of this module, "v1.2.3"
	Replace string // a folder with this module's source, where Version is not published; "" for none
}

var moduleForm = regexp.MustCompile(`^[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*$`)

// Plan returns the new project's files by their slash-separated path. It touches no disk but to learn the folder's name.
func Plan(o Options) (map[string][]byte, error) {
	if o.Module == "" {
		abs, err := filepath.Abs(o.Dir)
		if err != nil {
			return nil, err
		}
		o.Module = filepath.Base(abs)
	}
	if !moduleForm.MatchString(o.Module) {
		return nil, fmt.Errorf("%q is no Go module path: give one with --module example.com/limits", o.Module)
	}
	out := map[string][]byte{}
	for from, to := range files {
		text, err := templates.ReadFile("template/" + from)
		if err != nil {
			return nil, err
		}
		out[to] = []byte(strings.ReplaceAll(string(text), "{{.Module}}", o.Module))
	}
	for _, name := range shared {
		text, err := functions.FS.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out["functions/"+name] = text
	}
	out["go.mod"] = []byte(goMod(o))
	return out, nil
}

func goMod(o Options) string {
	text := fmt.Sprintf("module %s\n\ngo 1.26\n\nrequire github.com/rlfunc/rlfunc %s\n\ntool github.com/rlfunc/rlfunc/cmd/rlfunc\n", o.Module, o.Version)
	if o.Replace != "" {
		text += fmt.Sprintf("\nreplace github.com/rlfunc/rlfunc => %s\n", o.Replace)
	}
	return text
}

// Write puts the files into dir, and refuses before the first one when any of them is there already.
func Write(dir string, content map[string][]byte) error {
	var taken []string
	for name := range content {
		if _, err := os.Lstat(filepath.Join(dir, filepath.FromSlash(name))); err == nil {
			taken = append(taken, name)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	if len(taken) > 0 {
		slices.Sort(taken)
		names := strings.Join(taken[:min(len(taken), 3)], ", ")
		if len(taken) > 3 {
			names += fmt.Sprintf(" and %d more", len(taken)-3)
		}
		return fmt.Errorf("%s holds %s already: nothing was written; choose an empty folder", dir, names)
	}
	for name, text := range content {
		to := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(to, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}
