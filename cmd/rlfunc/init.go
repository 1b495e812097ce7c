package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/scaffold"
)

func (a *app) initCommand() *cobra.Command {
	var o scaffold.Options
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create a project: a first annotated function, its test, a Makefile and a CI workflow",
		Long: `Creates a project in DIR, or here: rlfunc.yaml, a first annotated function with its generated client, a step-table test for
the embedded engine, a Makefile and a CI workflow. With --empty it leaves out the function and its test. The Makefile runs the version
of rlfunc that tools/go.mod pins: because that is a module of its own, the project's go.mod does not list what the command is built with.

An existing go.mod, Makefile, .gitattributes, .gitignore and .github/workflows/ci.yml stay: init adds the requirement of rlfunc to
go.mod, and prints the lines to add to the others. If any other file exists, init leaves the folder unchanged.

At the end it runs go mod tidy in both modules, so that go test ./... passes at once. Without a go command it prints what to run. Below
another module it makes one of its own only with --module.`,
		Example: "  rlfunc init mylimits\n  cd mylimits && go test ./...\n  rlfunc init --empty --module example.com/shop/limits limits",
		Args:    atMostOneArgument("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Dir = a.dir
			if len(args) == 1 && filepath.IsAbs(args[0]) {
				o.Dir = args[0]
			} else if len(args) == 1 {
				o.Dir = filepath.Join(a.dir, args[0])
			}
			return a.init(cmd.Context(), o)
		},
	}
	cmd.Flags().BoolVar(&o.Empty, "empty", false, "leave out the first function and its test")
	cmd.Flags().StringVar(&o.Module, "module", "", "Go module `PATH` of the project (default the folder's name)")
	return cmd
}

func (a *app) init(ctx context.Context, o scaffold.Options) error {
	o.Version = version()
	if !released(o.Version) {
		o.Replace = builtFrom()
	}
	switch {
	case o.Replace != "":
		o.Version = "v0.0.0"
	case !strings.HasPrefix(o.Version, "v") || strings.Contains(o.Version, "+"):
		return errors.New("this rlfunc is not a release, and its source is not where it was built: build it in its checkout, without -trimpath")
	}
	plan, err := scaffold.New(o)
	if err != nil {
		return err
	}
	if err := plan.Write(o.Dir); err != nil {
		return err
	}
	a.note("wrote %d files in %s", len(plan.Files), o.Dir)
	for _, kept := range plan.Kept {
		a.note("%s", kept)
	}
	var next []string
	if o.Dir != "." {
		next = append(next, "cd "+o.Dir)
	}
	commands := []string{"go mod tidy", "go -C tools mod tidy"}
	if o.Empty {
		commands = commands[1:] // without a Go file that imports rlfunc, go mod tidy would drop it
	}
	_, noGo := exec.LookPath("go")
	for _, command := range commands {
		if noGo != nil { // whoever calls the functions from another language may not have it
			next = append(next, command)
			continue
		}
		if err := runIn(ctx, o.Dir, command); err != nil {
			return err
		}
	}
	if o.Empty {
		next = append(next, "# write functions/NAME/library.lua, functions/NAME/FUNCTION.lua and a test", "rlfunc generate", "go mod tidy")
	} else {
		next = append(next, "go test ./...", "rlfunc call --redis embedded "+scaffold.Example)
	}
	if a.json {
		return a.printJSON(map[string]any{"dir": o.Dir, "files": len(plan.Files), "kept": orEmpty(plan.Kept)})
	}
	a.note("next:\n  %s", strings.Join(next, "\n  "))
	return nil
}

// released reports whether a version is published: checkouts are stamped with pseudo-versions.
func released(version string) bool {
	return strings.HasPrefix(version, "v") && !strings.Contains(version, "+") && !module.IsPseudoVersion(version)
}

// moduleSource is the folder of the module's source. The linker sets it (-X main.moduleSource=DIR) where -trimpath hides it.
var moduleSource string

// builtFrom returns moduleSource or where this machine built the program, or "" if no source of the module is there.
func builtFrom() string {
	root := moduleSource
	if root == "" {
		_, file, _, _ := runtime.Caller(0)
		root = filepath.Dir(filepath.Dir(filepath.Dir(file)))
	}
	if !filepath.IsAbs(root) || strings.Contains(root, "@") {
		return "" // built with -trimpath, or in the module cache
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !strings.HasPrefix(string(text), "module github.com/rlfunc/rlfunc\n") {
		return ""
	}
	return root
}

func runIn(ctx context.Context, dir, command string) error {
	words := strings.Fields(command)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Dir = dir
	var output bytes.Buffer
	cmd.Stderr = &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the project is written, but %s in %s: %w\n%s", command, dir, err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}
