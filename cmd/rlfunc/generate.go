package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen/breaking"
)

func (a *app) generateCommand() *cobra.Command {
	var check bool
	var python, typescript string
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Generate bundles, clients and reference pages from the annotated Lua",
		Long: `Generates gen/ from functions/: for each library the bundle that Redis loads, a typed Go client and a
reference page. If rlfunc.yaml or a flag asks for Python or TypeScript, it also generates clients in
those languages. Generated files whose source is gone are removed; all other files are left alone.

With --check nothing is written: it lists missing, stale and orphaned files with a diff and exits
with 2, as it also does if released.sum lists a version with other bytes. Run it in CI.

With ` + "`bundles: gen`" + ` in rlfunc.yaml, the Python and TypeScript clients get no copy of the bundles, so
that a repository has each bundle once. A folder that a flag names is always complete: generate into
one when you build the wheel or the npm package.

Outside a project, the flags generate Python or TypeScript clients of the built-in libraries.`,
		Example: "  rlfunc generate\n  rlfunc generate --check\n  rlfunc generate --python gen/python --typescript gen/typescript",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.generate(cmd.Context(), check, python, typescript)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 2 if gen/ differs from what functions/ generate")
	cmd.Flags().StringVar(&python, "python", "", "folder of Python clients, inside the project; defaults to python in rlfunc.yaml")
	cmd.Flags().StringVar(&typescript, "typescript", "", "folder of TypeScript clients, inside the project; defaults to typescript in rlfunc.yaml")
	return cmd
}

func (a *app) generate(ctx context.Context, check bool, python, typescript string) error {
	p, err := project.FindOrBuiltIn(a.dir)
	if err != nil {
		return err
	}
	if err := p.SetFolders(python, typescript); err != nil {
		return err
	}
	folders := p.Config.Folders()
	if len(folders) == 0 {
		return fmt.Errorf("%w, or generate clients of the built-in libraries with --python DIR or --typescript DIR", project.ErrNoProject)
	}
	tree, err := p.Load(ctx)
	if err != nil {
		return a.findings(err)
	}
	files, err := p.Generate(tree)
	if err != nil {
		return err
	}
	differences, err := p.Compare(files)
	if err != nil {
		return fmt.Errorf("compare %s: %w", p.Dir, err)
	}
	var released []breaking.Finding
	if !p.BuiltIn {
		snapshot, err := p.Snapshot(tree)
		if err != nil {
			return err
		}
		released = breaking.Compare(snapshot, snapshot)
	}
	if !check {
		if err := p.Write(differences); err != nil {
			return fmt.Errorf("write %s: %w", p.Dir, err)
		}
	}
	err = a.print(map[string]any{"files": len(files), "differences": orEmpty(differences), "released": orEmpty(released)}, func() error {
		for _, f := range released {
			if check {
				fmt.Fprintln(a.out, f)
			} else {
				a.warnf("%s", f)
			}
		}
		a.printDifferences(differences, check, len(files), filepath.ToSlash(strings.Join(folders, ", ")))
		return nil
	})
	return reporting(check && len(differences)+len(released) > 0, err)
}

func (a *app) printDifferences(differences []project.Difference, check bool, files int, folders string) {
	for _, d := range differences {
		switch {
		case !check && d.Kind == "orphaned":
			a.note("removed %s", d.Path)
		case !check:
			a.note("wrote %s", d.Path)
		default:
			fmt.Fprintf(a.out, "%s: %s\n", d.Path, d.Kind)
			if d.Kind == "stale" {
				fmt.Fprintf(a.out, "%s", diff.Diff("have/"+d.Path, []byte(d.Have), "want/"+d.Path, []byte(d.Want)))
			}
		}
	}
	switch {
	case check && len(differences) > 0:
		a.note("%d of %d files in %s differ from their source: run `rlfunc generate`", len(differences), files, folders)
	default:
		a.note("%d files in %s are up to date", files, folders)
	}
}
