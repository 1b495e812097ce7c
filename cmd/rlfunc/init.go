package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/mod/module"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/scaffold"
	"github.com/rlfunc/rlfunc/codegen"
)

func (a *app) initCommand() *cobra.Command {
	var module, replace string
	var noTidy bool
	cmd := &cobra.Command{
		Use:   "init [DIR]",
		Short: "Make a project: a first annotated function, its test, a Makefile and a CI workflow",
		Long: `Makes a project in DIR, or here: rlfunc.yaml, a first annotated function with its generated client, a step-table test that
runs on the embedded engine, a Makefile and a CI workflow. In a repository that has a go.mod, Makefile, .gitignore or
.github/workflows/ci.yml, they stay: go.mod gains the requirement of rlfunc, and what to add to the others is printed. Any
other file that is there already is a refusal.

It ends with go mod tidy, so that go test ./... passes at once.`,
		Example: "  rlfunc init mylimits\n  cd mylimits && go test ./...",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir := a.dir
			if len(args) == 1 && filepath.IsAbs(args[0]) {
				dir = args[0]
			} else if len(args) == 1 {
				dir = filepath.Join(a.dir, args[0])
			}
			o := scaffold.Options{Dir: dir, Module: module, Replace: replace}
			return a.init(cmd.Context(), o, noTidy)
		},
	}
	cmd.Flags().StringVar(&module, "module", "", "Go module path of the project (default the folder's name)")
	cmd.Flags().StringVar(&replace, "replace", "", "folder with the source of rlfunc itself (default none, or where an unreleased rlfunc was built)")
	cmd.Flags().BoolVar(&noTidy, "no-tidy", false, "do not run go mod tidy")
	return cmd
}

func (a *app) init(ctx context.Context, o scaffold.Options, noTidy bool) error {
	o.Version = version()
	if o.Replace == "" && !released(o.Version) {
		o.Replace = builtFrom()
	}
	if !strings.HasPrefix(o.Version, "v") || strings.Contains(o.Version, "+") || o.Replace != "" {
		o.Version = "v0.0.0"
		if o.Replace == "" {
			return fmt.Errorf("this rlfunc is no released version, and its source is not where it was built: name it with --replace DIR")
		}
	}
	plan, err := scaffold.New(o)
	if err != nil {
		return err
	}
	if err := plan.Write(o.Dir); err != nil {
		return err
	}
	p, err := project.Find(o.Dir)
	if err != nil {
		return err
	}
	tree, err := p.Load()
	if err != nil {
		return err
	}
	files, err := codegen.Generate(tree)
	if err != nil {
		return err
	}
	differences, err := p.Compare(files)
	if err != nil {
		return err
	}
	if err := p.Write(differences); err != nil {
		return err
	}
	a.talk("wrote %d files in %s", len(plan.Files)+len(differences), o.Dir)
	for _, kept := range plan.Kept {
		a.talk("%s", kept)
	}
	if !noTidy {
		if err := tidy(ctx, o.Dir); err != nil {
			return err
		}
	}
	a.talk("next:\n  cd %s\n  go test ./...\n  rlfunc call quota.take --redis embedded bucket=user42 limit=10 period=1m", o.Dir)
	return nil
}

// released tells a version that everybody can get from what a checkout is stamped with.
func released(version string) bool {
	return strings.HasPrefix(version, "v") && !strings.Contains(version, "+") && !module.IsPseudoVersion(version)
}

// builtFrom is the folder of the module's source on the machine that built this program, if it is this machine.
func builtFrom() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !filepath.IsAbs(file) {
		return ""
	}
	root := filepath.Dir(filepath.Dir(filepath.Dir(file)))
	if strings.Contains(root, "@") {
		return "" // the module cache: whoever put it there can get it again
	}
	text, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil || !strings.HasPrefix(string(text), "module github.com/rlfunc/rlfunc\n") {
		return ""
	}
	return root
}

func tidy(ctx context.Context, dir string) error {
	cmd := exec.CommandContext(ctx, "go", "mod", "tidy")
	cmd.Dir = dir
	var talk bytes.Buffer
	cmd.Stderr = &talk
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the project is made, but go mod tidy in %s: %w\n%s", dir, err, bytes.TrimSpace(talk.Bytes()))
	}
	return nil
}
