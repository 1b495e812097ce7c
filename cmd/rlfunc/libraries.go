package main

import (
	"context"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/breaking"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// tree reads the project's libraries without vetting them, for commands that load nothing onto a server.
func (a *app) tree() (*codegen.Tree, error) {
	p, err := project.FindOrBuiltIn(a.dir)
	if err != nil {
		return nil, err
	}
	return p.Read()
}

// deployable returns the named libraries, or all, for a deploy: vetted, the same as in gen/, and none of them a released version with other
// bytes. A server without that version would accept them, and then hold a version that was never released.
func (a *app) deployable(ctx context.Context, names []string) ([]*fcall.Library, *codegen.Tree, error) {
	p, err := project.FindOrBuiltIn(a.dir)
	if err != nil {
		return nil, nil, err
	}
	tree, err := p.Load(ctx)
	if err != nil {
		return nil, nil, err
	}
	if !p.BuiltIn {
		if err := checkReleased(p, tree, names); err != nil {
			return nil, nil, err
		}
		if err := checkGenerated(p, tree, names); err != nil {
			return nil, nil, err
		}
	}
	sources, err := a.sources(tree, names)
	libs := make([]*fcall.Library, len(sources))
	for i, lib := range sources {
		libs[i] = runtime.Library(lib)
	}
	return libs, tree, err
}

// checkReleased compares the named libraries, or all, with released.sum.
func checkReleased(p *project.Project, tree *codegen.Tree, names []string) error {
	snapshot, err := p.Snapshot(tree)
	if err != nil {
		return err
	}
	var found codegen.Findings
	for _, f := range breaking.Compare(snapshot, snapshot) {
		if f.Library == "" || len(names) == 0 || slices.Contains(names, f.Library) {
			found = append(found, f.Diagnostic)
		}
	}
	return found.Err()
}

// checkGenerated compares the named libraries, or all, with their bundles in gen/, which services embed. Nobody embeds one that is not there.
func checkGenerated(p *project.Project, tree *codegen.Tree, names []string) error {
	files := map[string][]byte{}
	for _, lib := range tree.Libraries {
		if name := lib.Spec.Name; len(names) == 0 || slices.Contains(names, name) {
			files[path.Join(filepath.ToSlash(p.Config.Gen), name, name+".lua")] = []byte(codegen.Bundle(lib))
		}
	}
	differences, err := p.Compare(files)
	if err != nil {
		return fmt.Errorf("compare %s: %w", p.Config.Gen, err)
	}
	var stale []string
	for _, d := range differences {
		if d.Kind == "stale" {
			stale = append(stale, d.Path)
		}
	}
	if len(stale) > 0 {
		return fmt.Errorf("%s is not what %s generates now, and services embed it: run `rlfunc generate` first", strings.Join(stale, ", "), p.Config.Functions)
	}
	return nil
}

// sources returns the named libraries of the tree, or all.
func (a *app) sources(tree *codegen.Tree, names []string) ([]*codegen.Library, error) {
	if len(names) == 0 {
		return tree.Libraries, nil
	}
	for _, name := range names {
		if _, err := a.library(tree, name); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(slices.Clone(tree.Libraries), func(lib *codegen.Library) bool { return !slices.Contains(names, lib.Spec.Name) }), nil
}

// library finds a library by its name.
func (a *app) library(tree *codegen.Tree, name string) (*codegen.Library, error) {
	if lib, ok := tree.Library(name); ok {
		return lib, nil
	}
	var names []string
	for _, lib := range tree.Libraries {
		names = append(names, lib.Spec.Name)
	}
	if p, err := project.Find(a.dir); err == nil {
		return nil, p.UnknownLibrary(name, names)
	}
	return nil, fmt.Errorf("no library %q is built in%s (libraries: %s)", name, spelling.DidYouMean(name, names), strings.Join(names, ", "))
}

// function finds a function of a library by its name.
func function(lib *codegen.Library, name string) (*spec.Function, error) {
	var names []string
	for i := range lib.Spec.Functions {
		if lib.Spec.Functions[i].Name == name {
			return &lib.Spec.Functions[i], nil
		}
		names = append(names, lib.Spec.Functions[i].Name)
	}
	return nil, fmt.Errorf("library %s has no function %q%s (functions: %s)", lib.Spec.Name, name, spelling.DidYouMean(name, names), strings.Join(names, ", "))
}

// findFunction finds LIBRARY.FUNCTION.
func (a *app) findFunction(tree *codegen.Tree, name string) (*codegen.Library, *spec.Function, error) {
	libName, fnName, ok := strings.Cut(name, ".")
	if !ok {
		var found []string
		for _, lib := range tree.Libraries {
			if _, err := function(lib, name); err == nil {
				found = append(found, lib.Spec.Name+"."+name)
			}
		}
		suggestion := ""
		if found != nil {
			suggestion = "; did you mean " + strings.Join(found, " or ") + "?"
		}
		return nil, nil, fmt.Errorf("%q is not LIBRARY.FUNCTION%s", name, suggestion)
	}
	lib, err := a.library(tree, libName)
	if err != nil {
		return nil, nil, err
	}
	fn, err := function(lib, fnName)
	return lib, fn, err
}

// serverLibrary matches a library's name on a server, such as ratelimit_v1.
var serverLibrary = regexp.MustCompile(`_v\d+$`)

// serverName returns the name of a library on the server. It finds a plain name's in the records of deploys.
func serverName(ctx context.Context, target *connection.Target, name string) (string, error) {
	if serverLibrary.MatchString(name) {
		return name, nil
	}
	releases, err := target.Releases(ctx)
	if err != nil {
		return "", err
	}
	var names []string
	for _, r := range releases {
		if r.Name == name && !slices.Contains(names, r.Library) {
			names = append(names, r.Library)
		}
	}
	switch len(names) {
	case 0:
		return "", fmt.Errorf("no release of a library %s is recorded (see `rlfunc status`); to restore another version, give a checkout of it with --from", name)
	case 1:
		return names[0], nil
	}
	return "", fmt.Errorf("the server has %s: give one of these names", strings.Join(names, " and "))
}
