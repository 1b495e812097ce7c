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
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/scaffold"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/examples/templates"
)

func (a *app) initCommand() *cobra.Command {
	var module, replace, template string
	var noTidy bool
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Create a project: a first annotated function, its test, a Makefile and a CI workflow",
		Long: `Creates a project in DIR, or here: rlfunc.yaml, a first annotated function with its generated client, a step-table test for
the embedded engine, a Makefile and a CI workflow. The Makefile runs the version of rlfunc that tools/go.mod pins: because that is a
module of its own, the project's go.mod does not list what the command is built with.

An existing go.mod, Makefile, .gitattributes, .gitignore and .github/workflows/ci.yml stay: init adds the requirement of rlfunc to
go.mod, and prints the lines to add to the others. A project may take one more template. If any other file exists, or the project does
not generate, init leaves the folder unchanged.

At the end it runs go mod tidy in both modules, so that go test ./... passes at once; in a workspace also go work use, and beside vendored
packages go mod vendor. Below another module it makes one of its own only with --module.

The first function is one of library quota, or the functions of another template (docs/writing-a-function.md has what each guarantees):

` + templateList(),
		Example: "  rlfunc init mylimits\n  cd mylimits && go test ./...\n  rlfunc init --template inventory mystock\n  rlfunc init --template list",
		Args:    usage.AtMostOne("DIR"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if template == "list" {
				return a.listTemplates()
			}
			library, err := templates.Find(template)
			if err != nil {
				return err
			}
			dir := a.dir
			if len(args) == 1 && filepath.IsAbs(args[0]) {
				dir = args[0]
			} else if len(args) == 1 {
				dir = filepath.Join(a.dir, args[0])
			}
			o := scaffold.Options{Dir: dir, Module: module, Replace: replace, Library: library}
			return a.init(cmd.Context(), o, noTidy)
		},
	}
	cmd.Flags().StringVar(&module, "module", "", "Go module `PATH` of the project (default the folder's name)")
	cmd.Flags().StringVar(&replace, "replace", "", "`FOLDER` with the source of rlfunc (default none; for an unreleased rlfunc, where it was built)")
	cmd.Flags().StringVar(&template, "template", templates.Default, "`NAME` of the library to begin with; list prints them")
	cmd.Flags().BoolVar(&noTidy, "no-tidy", false, "do not run the go command; print what to run")
	names := []string{"list"}
	for _, t := range templates.All() {
		names = append(names, t.Name)
	}
	complete(cmd, "template", values(names...))
	return cmd
}

func (a *app) listTemplates() error {
	if !a.json {
		_, err := fmt.Fprint(a.out, templateList())
		return err
	}
	type template struct {
		Name    string `json:"name"`
		Summary string `json:"summary"`
		Example string `json:"example"` // arguments of rlfunc call
	}
	var list []template
	for _, t := range templates.All() {
		list = append(list, template{t.Name, t.Summary(), t.Example})
	}
	return a.printJSON(map[string]any{"templates": list})
}

// templateList returns a line for each template.
func templateList() string {
	var b strings.Builder
	for _, t := range templates.All() {
		fmt.Fprintf(&b, "  %-12s %s\n", t.Name, t.Summary())
	}
	return b.String()
}

func (a *app) init(ctx context.Context, o scaffold.Options, noTidy bool) error {
	o.Version = version()
	if o.Replace == "" && !released(o.Version) {
		o.Replace = builtFrom()
	}
	if !strings.HasPrefix(o.Version, "v") || strings.Contains(o.Version, "+") || o.Replace != "" {
		o.Version = "v0.0.0"
		if o.Replace == "" {
			return fmt.Errorf("this rlfunc is not a released version, and its source is not where it was built: give the source with --replace FOLDER")
		}
	}
	plan, err := scaffold.New(o)
	if err != nil {
		return err
	}
	if err := plan.Write(o.Dir); err != nil {
		return err
	}
	generated, err := a.generateIn(ctx, o.Dir)
	if err != nil {
		return errors.Join(err, plan.Undo())
	}
	a.note("wrote %d files in %s", len(plan.Files)+generated, o.Dir)
	for _, kept := range plan.Kept {
		a.note("%s", kept)
	}
	left := ""
	for _, words := range completion(ctx, o.Dir) {
		command := "go " + strings.Join(words, " ")
		if noTidy {
			left += "\n  " + command
			continue
		}
		if err := goTool(ctx, o.Dir, words...); err != nil {
			return err
		}
		if !slices.Contains(words, "tidy") {
			a.note("ran %s", command)
		}
	}
	enter := ""
	if o.Dir != "." {
		enter = "\n  cd " + o.Dir
	}
	if a.json {
		return a.printJSON(map[string]any{"dir": o.Dir, "files": len(plan.Files) + generated, "kept": output.List(plan.Kept)})
	}
	a.note("next:%s%s\n  go test ./...\n  rlfunc call --redis embedded %s", enter, left, o.Library.Example)
	return nil
}

// generateIn generates the files of the project in dir. It returns how many it wrote.
func (a *app) generateIn(ctx context.Context, dir string) (int, error) {
	p, err := project.Find(dir)
	if err != nil {
		return 0, err
	}
	tree, err := p.Load(ctx)
	if err != nil {
		return 0, err
	}
	_, differences, err := p.Differences(ctx, tree, a.err)
	if err != nil {
		return 0, err
	}
	return len(differences), p.Write(differences)
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

// completion returns the go commands that a new project needs, so that its tests pass: go takes packages from a workspace and from a vendor
// folder only if they list them.
func completion(ctx context.Context, dir string) [][]string {
	commands := [][]string{{"mod", "tidy"}, {"-C", "tools", "mod", "tidy"}}
	vendored := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "vendor", "modules.txt"))
		return err == nil
	}
	cmd := exec.CommandContext(ctx, "go", "env", "GOWORK")
	cmd.Dir = dir
	output, _ := cmd.Output()
	switch workspace := strings.TrimSpace(string(output)); {
	case workspace != "" && workspace != "off":
		commands = append(commands, []string{"work", "use", "."})
		if vendored(filepath.Dir(workspace)) {
			commands = append(commands, []string{"work", "vendor"})
		}
	case vendored(dir):
		commands = append(commands, []string{"mod", "vendor"})
	}
	return commands
}

func goTool(ctx context.Context, dir string, words ...string) error {
	cmd := exec.CommandContext(ctx, "go", words...)
	cmd.Dir = dir
	var output bytes.Buffer
	cmd.Stderr = &output
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the project is written, but go %s in %s: %w\n%s", strings.Join(words, " "), dir, err, bytes.TrimSpace(output.Bytes()))
	}
	return nil
}
