package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/functions"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of rlfunc, and with --json those of Go and the built-in libraries",
		Example: "  rlfunc version --json",
		Args:    usage.None,
		RunE: func(*cobra.Command, []string) error {
			if !a.json {
				_, err := fmt.Fprintln(a.out, "rlfunc", version())
				return err
			}
			tree, err := (&project.Project{Config: project.Config{Functions: functions.Root}, BuiltIn: true}).Read()
			if err != nil {
				return err
			}
			libraries := map[string]string{}
			for _, lib := range tree.Libraries {
				libraries[lib.Spec.Name] = lib.Spec.Version
			}
			return a.printJSON(map[string]any{"version": version(), "go": runtime.Version(), "libraries": libraries})
		},
	}
}

// release is the version that .ci/release builds.
var release string

// version returns the release, or the module's version as the Go tool stamped it.
func version() string {
	if release != "" {
		return release
	}
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
