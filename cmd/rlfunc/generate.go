package main

import (
	"fmt"
	"path/filepath"

	"github.com/rogpeppe/go-internal/diff"
	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/breaking"
)

func (a *app) generateCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use:   "generate",
		Short: "Make bundles, Go clients and reference pages from the annotated Lua",
		Long: `Makes every file of gen/ from functions/: for each library the bundle that Redis loads, the typed Go client and the
reference page. Files that it wrote earlier and that have no source any more are removed; others are left alone.

With --check nothing is written: missing, stale and orphaned files are named with a diff, and the exit code is 2. So it is
for a version that released.sum lists with other bytes.`,
		Example: "  rlfunc generate\n  rlfunc generate --check",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			return a.generate(check)
		},
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing; exit 2 when gen/ is not what functions/ make")
	return cmd
}

func (a *app) generate(check bool) error {
	p, err := project.Find(a.dir)
	if err != nil {
		return err
	}
	tree, err := p.Load()
	if err != nil {
		return a.findings(err)
	}
	files, err := codegen.Generate(tree)
	if err != nil {
		return err
	}
	snapshot, err := p.Snapshot(tree)
	if err != nil {
		return err
	}
	released := breaking.Compare(snapshot, snapshot, breaking.State)
	differences, err := p.Compare(files)
	if err != nil {
		return fmt.Errorf("compare %s: %w", p.GenDir(), err)
	}
	if !check {
		if err := p.Write(differences); err != nil {
			return fmt.Errorf("write %s: %w", p.GenDir(), err)
		}
	}
	if a.json {
		if err := a.printJSON(map[string]any{"files": len(files), "differences": orEmpty(differences), "released": orEmpty(released)}); err != nil {
			return err
		}
	} else {
		for _, f := range released {
			if check {
				fmt.Fprintln(a.out, f)
			} else {
				a.talk("warning: %s", f)
			}
		}
		a.tellDifferences(differences, check, len(files), filepath.ToSlash(p.Config.Gen))
	}
	if check && len(differences)+len(released) > 0 {
		return exitCode(exitDifferences)
	}
	return nil
}

func (a *app) tellDifferences(differences []project.Difference, check bool, files int, gen string) {
	for _, d := range differences {
		switch {
		case !check && d.Kind == "orphaned":
			a.talk("removed %s", d.Path)
		case !check:
			a.talk("wrote %s", d.Path)
		default:
			fmt.Fprintf(a.out, "%s: %s\n", d.Path, d.Kind)
			if d.Kind == "stale" {
				fmt.Fprintf(a.out, "%s", diff.Diff("have/"+d.Path, []byte(d.Have), "want/"+d.Path, []byte(d.Want)))
			}
		}
	}
	switch {
	case check && len(differences) > 0:
		a.talk("%d of %d files in %s differ from their source: run `rlfunc generate`", len(differences), files, gen)
	default:
		a.talk("%s is up to date, %d files", gen, files)
	}
}

func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
