package main

import (
	"io"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/codegen"
)

func (a *app) bundleCommand() *cobra.Command {
	return &cobra.Command{
		Use:               "bundle LIBRARY",
		Short:             "Print the text that Redis loads",
		Long:              `Prints the bundle of a library, the bytes that a server holds after a deploy, for teams that deploy with another tool.`,
		Example:           "  rlfunc bundle ratelimit\n  rlfunc bundle ratelimit | redis-cli -x FUNCTION LOAD",
		Args:              usage.One("LIBRARY", "ratelimit"),
		ValidArgsFunction: first(a.libraryNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := project.FindOrBuiltIn(a.dir)
			if err != nil {
				return err
			}
			tree, err := p.Load(cmd.Context())
			if err != nil {
				return err
			}
			lib, err := a.library(tree, args[0])
			if err != nil {
				return err
			}
			code := codegen.Bundle(lib)
			if a.json {
				return a.printJSON(map[string]any{"library": lib.Spec.Name, "version": lib.Spec.Version, "server": lib.Spec.Server, "code": code})
			}
			_, err = io.WriteString(a.out, code)
			return err
		},
	}
}
