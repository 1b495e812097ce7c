package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

func (a *app) describeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "describe [LIBRARY[.FUNCTION]]",
		Short: "Print the contract of functions: keys, arguments, results and errors",
		Long: `Prints what the headers of functions say: keys, arguments, results and errors, of every library, one
library, or one function. The JSON form does not depend on a programming language, so other generators
can read it. Its format number goes up when its names change.`,
		Example:           "  rlfunc describe\n  rlfunc describe ratelimit.gcra\n  rlfunc describe ratelimit --json",
		Args:              usage.AtMostOne("LIBRARY[.FUNCTION]"),
		ValidArgsFunction: first(a.describable),
		RunE: func(cmd *cobra.Command, args []string) error {
			tree, err := a.described(cmd.Context())
			if err != nil {
				return err
			}
			return a.describe(tree, strings.Join(args, ""))
		},
	}
}

func (a *app) describe(tree *codegen.Tree, name string) error {
	libs := tree.Libraries
	if name != "" {
		libName, fnName, one := strings.Cut(name, ".")
		lib, err := a.library(tree, libName)
		if err != nil {
			return err
		}
		if one {
			fn, err := function(lib, fnName)
			if err != nil {
				return err
			}
			short := *lib
			short.Spec.Functions = []spec.Function{*fn}
			lib = &short
		}
		libs = []*codegen.Library{lib}
	}
	if a.json {
		specs := make([]spec.Library, len(libs))
		for i, lib := range libs {
			specs[i] = lib.Spec
		}
		return a.printJSON(map[string]any{"format": spec.Format, "libraries": specs})
	}
	for _, lib := range libs {
		page := codegen.Reference(lib)
		fmt.Fprintf(a.out, "%s", page[strings.Index(string(page), "# "):])
	}
	return nil
}
