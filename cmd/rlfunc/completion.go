package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
)

const (
	noFiles      = cobra.ShellCompDirectiveNoFileComp
	noFilesSpace = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
)

func (a *app) libraryNames(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	tree, err := a.tree()
	if err != nil {
		return nil, noFiles
	}
	var names []string
	for _, lib := range tree.Libraries {
		if !slices.Contains(args, lib.Spec.Name) {
			names = append(names, lib.Spec.Name)
		}
	}
	return names, noFiles
}

func (a *app) functionNames() []string {
	tree, err := a.tree()
	if err != nil {
		return nil
	}
	var names []string
	for _, lib := range tree.Libraries {
		for _, fn := range lib.Spec.Functions {
			names = append(names, lib.Spec.Name+"."+fn.Name)
		}
	}
	return names
}

// callArguments completes a function's name, then the names of its arguments.
func (a *app) callArguments(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return a.functionNames(), noFiles
	}
	tree, err := a.tree()
	if err != nil {
		return nil, noFiles
	}
	_, fn, err := a.findFunction(tree, args[0])
	if err != nil {
		return nil, noFiles
	}
	var names []string
	for _, name := range dyncall.ArgumentNames(fn) {
		name = strings.Replace(name, ".N.", ".0.", 1) + "="
		if !slices.ContainsFunc(args, func(arg string) bool { return strings.HasPrefix(arg, name) }) {
			names = append(names, name)
		}
	}
	return names, noFilesSpace
}

func (a *app) targetNames(*cobra.Command, []string, string) (names []string, _ cobra.ShellCompDirective) {
	if p, err := project.Find(a.dir); err == nil {
		for name := range p.Config.Targets {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, noFiles
}
