package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

const rlfunc = "github.com/rlfunc/rlfunc"

// reserved matches paths that the Go tool takes for its own packages and words, for packages of a vendor folder, or for hidden ones.
var reserved = regexp.MustCompile(`^(cmd|go|std|toolchain|archive|bufio|builtin|bytes|cmp|compress|container|context|crypto|database|debug|embed|encoding|errors|` +
	`expvar|flag|fmt|hash|html|image|index|internal|io|iter|log|maps|math|mime|net|os|path|plugin|reflect|regexp|runtime|slices|sort|strconv|strings|` +
	`structs|sync|syscall|testing|text|time|unicode|unique|unsafe|weak)(/|$)|^(all|mod|tool|work)$|(^|/)(vendor(/|$)|\.)`)

// modules plans the project's module, and module tools for the command, so that the project does not require what the command is built
// with. It sets o.Module.
func (p *Plan) modules(o *Options) error {
	own, err := p.goMod(*o, "go.mod")
	if err != nil {
		return err
	}
	if o.Module != "" && o.Module != own {
		return fmt.Errorf("%s declares module %s, not %s: omit --module or choose another folder", filepath.Join(o.Dir, "go.mod"), own, o.Module)
	}
	o.Module = own
	_, absent := os.Stat(filepath.Join(o.Dir, "tools", "go.mod"))
	for _, form := range []string{"tools/*.go", "tools/*/*.go"} {
		if found, _ := fs.Glob(os.DirFS(o.Dir), form); absent != nil && len(found) > 0 {
			return fmt.Errorf("%s has %s, which a new tools/go.mod for the command would take out of module %s: choose another folder", o.Dir, found[0], own)
		}
	}
	tools := *o
	tools.Module += "/tools"
	if o.Replace != "" && !filepath.IsAbs(o.Replace) {
		tools.Replace = path.Join("..", filepath.ToSlash(o.Replace))
	}
	_, err = p.goMod(tools, "tools/go.mod", rlfunc+"/cmd/rlfunc")
	return err
}

// goMod plans a new go.mod with the requirement of rlfunc and the tools, or their addition to the one in o.Dir. It returns the module's
// path.
func (p *Plan) goMod(o Options, name string, tools ...string) (string, error) {
	file := filepath.Join(o.Dir, filepath.FromSlash(name))
	text, err := os.ReadFile(file)
	added := errors.Is(err, fs.ErrNotExist)
	if added {
		text, err = newModule(o)
	}
	if err != nil {
		return "", err
	}
	mod, err := modfile.Parse(file, text, nil)
	if err != nil {
		return "", fmt.Errorf("read the module: %w", err)
	}
	if mod.Module == nil {
		return "", fmt.Errorf("%s has no module directive", file)
	}
	if !slices.ContainsFunc(mod.Require, func(r *modfile.Require) bool { return r.Mod.Path == rlfunc }) {
		err = mod.AddRequire(rlfunc, o.Version)
		if o.Replace != "" {
			err = errors.Join(err, mod.AddReplace(rlfunc, "", o.Replace, ""))
		}
	}
	for _, tool := range tools {
		err = errors.Join(err, mod.AddTool(tool))
	}
	if err == nil {
		p.Files[name], err = mod.Format()
	}
	if err != nil {
		return "", fmt.Errorf("extend %s: %w", file, err)
	}
	if !added && !bytes.Equal(p.Files[name], text) {
		p.Kept = append(p.Kept, fmt.Sprintf("extended %s of module %s: it now requires %s", name, mod.Module.Mod.Path, rlfunc))
	}
	return mod.Module.Mod.Path, nil
}

func newModule(o Options) ([]byte, error) {
	if o.Module == "" {
		abs, err := filepath.Abs(o.Dir)
		if err != nil {
			return nil, err
		}
		o.Module = filepath.Base(abs)
		for above := filepath.Dir(abs); above != filepath.Dir(above); above = filepath.Dir(above) {
			text, err := os.ReadFile(filepath.Join(above, "go.mod"))
			if outer := modfile.ModulePath(text); err == nil && outer != "" {
				return nil, fmt.Errorf("%s is inside module %s: run rlfunc init in %s to add to that module, or make one inside it with --module %s/%s",
					o.Dir, outer, above, outer, o.Module)
			}
		}
	}
	if module.CheckImportPath(o.Module) != nil || reserved.MatchString(o.Module) {
		return nil, fmt.Errorf("%q is not a Go module path that other packages can import: set one, for example --module example.com/limits", o.Module)
	}
	return fmt.Appendf(nil, "module %s\n\ngo 1.26\n", o.Module), nil
}

// packageOf returns the name of the Go package in dir, which the first test belongs to. Without a package it returns name.
func packageOf(dir, name string) (string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, file := range files {
		if !strings.HasSuffix(file, "_test.go") {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.PackageClauseOnly)
			if err != nil {
				return "", fmt.Errorf("read the package: %w", err)
			}
			return parsed.Name.Name, nil
		}
	}
	return name, err
}
