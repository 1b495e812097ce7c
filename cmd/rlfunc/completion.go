package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// completionTime is how long a completion waits for a server.
const completionTime = 2 * time.Second

const (
	noFiles      = cobra.ShellCompDirectiveNoFileComp
	noFilesSpace = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
)

// complete completes the values of a flag.
func complete(cmd *cobra.Command, flag string, by cobra.CompletionFunc) {
	if err := cmd.RegisterFlagCompletionFunc(flag, by); err != nil {
		panic(err)
	}
}

// values completes fixed words.
func values(words ...string) cobra.CompletionFunc { return cobra.FixedCompletions(words, noFiles) }

// first completes the first argument only.
func first(by cobra.CompletionFunc) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, noFiles
		}
		return by(cmd, args, word)
	}
}

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

// describable completes libraries and functions.
func (a *app) describable(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	names, directive := a.libraryNames(cmd, args, word)
	return append(names, a.functionNames()...), directive
}

// callArguments completes a function's name, then the names of its arguments, then the values of an enum or a bool.
func (a *app) callArguments(_ *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
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
	if name, _, typed := strings.Cut(word, "="); typed {
		var words []string
		for _, p := range fn.Params {
			choices := p.Values
			if p.Kind == spec.KindBool {
				choices = []string{"true", "false"}
			}
			for _, value := range choices {
				if p.Name == name {
					words = append(words, name+"="+value)
				}
			}
		}
		return words, noFiles
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

// aclArguments completes a role, then libraries.
func (a *app) aclArguments(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if len(args) == 0 {
		return aclRoles, noFiles
	}
	return a.libraryNames(cmd, args, word)
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

// ofService completes names that the service of the flags has.
func (a *app) ofService(names func(*service.Service) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		a.quiet = true
		if a.applyTarget(cmd) != nil {
			return nil, noFiles
		}
		s, err := a.service()
		if err != nil {
			return nil, noFiles
		}
		return names(s), noFiles
	}
}

// identities completes the identities that a subject begins with.
func (a *app) identities(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	names, _ := a.ofService((*service.Service).IdentityNames)(cmd, args, word)
	for i := range names {
		names[i] += "="
	}
	return names, noFilesSpace
}

// ofTarget completes names that the nodes of the flags have.
func (a *app) ofTarget(names func(ctx context.Context, target *connection.Target, args []string) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		ctx, cancel := context.WithTimeout(cmd.Context(), completionTime)
		defer cancel()
		if a.applyTarget(cmd) != nil {
			return nil, noFiles
		}
		target, err := a.openTarget()
		if err != nil {
			return nil, noFiles
		}
		defer target.Close()
		return names(ctx, target, args), noFiles
	}
}

// serverLibraries completes the libraries on the nodes.
func (a *app) serverLibraries(ctx context.Context, target *connection.Target, _ []string) []string {
	names, _ := a.loadedNames(ctx, target, "")
	return names
}

// recordedVersions completes the recorded releases of the library in the first argument.
func (a *app) recordedVersions(ctx context.Context, target *connection.Target, args []string) (versions []string) {
	releases, _ := target.Releases(ctx)
	for _, r := range releases {
		if len(args) > 0 && (r.Name == args[0] || r.Library == a.inChannel(args[0])) && !slices.Contains(versions, r.Version) {
			versions = append(versions, r.Version)
		}
	}
	return versions
}
