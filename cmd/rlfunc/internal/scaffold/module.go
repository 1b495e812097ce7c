package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"go/build"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"golang.org/x/mod/modfile"
)

const rlfunc = "github.com/rlfunc/rlfunc"

var moduleForm = regexp.MustCompile(`^[A-Za-z0-9._~-]+(/[A-Za-z0-9._~-]+)*$`)

// goMod plans a new go.mod, or the additions to the one in o.Dir. It sets o.Module.
func (p *Plan) goMod(o *Options) error {
	name := filepath.Join(o.Dir, "go.mod")
	text, err := os.ReadFile(name)
	if errors.Is(err, fs.ErrNotExist) {
		return p.newModule(o)
	}
	if err != nil {
		return err
	}
	mod, err := modfile.Parse(name, text, nil)
	if err != nil {
		return fmt.Errorf("read the module: %w", err)
	}
	if mod.Module == nil {
		return fmt.Errorf("%s has no module directive", name)
	}
	path := mod.Module.Mod.Path
	if o.Module != "" && o.Module != path {
		return fmt.Errorf("%s declares module %s, not %s: omit --module or choose another folder", name, path, o.Module)
	}
	o.Module = path
	required := slices.ContainsFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == rlfunc })
	if !required {
		if err := errors.Join(mod.AddRequire(rlfunc, o.Version), o.replaceIn(mod)); err != nil {
			return fmt.Errorf("extend %s: %w", name, err)
		}
	}
	if err := mod.AddTool(rlfunc + "/cmd/rlfunc"); err != nil {
		return fmt.Errorf("extend %s: %w", name, err)
	}
	if p.Files["go.mod"], err = mod.Format(); err != nil {
		return fmt.Errorf("extend %s: %w", name, err)
	}
	if bytes.Equal(p.Files["go.mod"], text) {
		return nil
	}
	p.Kept = append(p.Kept, fmt.Sprintf("extended go.mod of module %s: it now requires %s and has it as a tool", path, rlfunc))
	return nil
}

func (o *Options) replaceIn(mod *modfile.File) error {
	if o.Replace == "" {
		return nil
	}
	return mod.AddReplace(rlfunc, "", o.Replace, "")
}

func (p *Plan) newModule(o *Options) error {
	if o.Module == "" {
		abs, err := filepath.Abs(o.Dir)
		if err != nil {
			return err
		}
		o.Module = filepath.Base(abs)
	}
	if !moduleForm.MatchString(o.Module) {
		return fmt.Errorf("%q is not a Go module path: set one, for example --module example.com/limits", o.Module)
	}
	text := fmt.Sprintf("module %s\n\ngo 1.26\n\nrequire %s %s\n\ntool %[2]s/cmd/rlfunc\n", o.Module, rlfunc, o.Version)
	if o.Replace != "" {
		text += fmt.Sprintf("\nreplace %s => %s\n", rlfunc, o.Replace)
	}
	p.Files["go.mod"] = []byte(text)
	return nil
}

// packageOf returns the name of the Go package in dir, which the first test belongs to. Without a package it returns name.
func packageOf(dir, name string) (string, error) {
	if there, err := exists(dir); !there {
		return name, err
	}
	pkg, err := build.ImportDir(dir, 0)
	var none *build.NoGoError
	switch {
	case errors.As(err, &none):
		return name, nil
	case err != nil:
		return "", fmt.Errorf("read the package: %w", err)
	}
	return pkg.Name, nil
}
