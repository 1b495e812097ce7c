package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen/bundle"
	"github.com/rlfunc/rlfunc/codegen/diag"
	"github.com/rlfunc/rlfunc/codegen/reference"
	"github.com/rlfunc/rlfunc/codegen/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

func (a *app) bundleCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "bundle LIBRARY",
		Short: "Print the text that Redis loads",
		Long: `Prints the bundle of a library, byte for byte what a server holds after a deploy: for teams that deploy with another
tool.`,
		Example: "  rlfunc bundle ratelimit\n  rlfunc bundle ratelimit | redis-cli -x FUNCTION LOAD",
		Args:    exactly("LIBRARY"),
		RunE: func(_ *cobra.Command, args []string) error {
			tree, err := a.load()
			if err != nil {
				return err
			}
			lib, err := a.library(tree, args[0])
			if err != nil {
				return err
			}
			code := bundle.Write(lib).Code
			if a.json {
				return a.printJSON(map[string]any{"library": lib.Spec.Name, "version": lib.Spec.Version, "server": lib.Spec.Server, "code": code})
			}
			fmt.Fprint(a.out, code)
			return nil
		},
	}
}

func (a *app) describeCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "describe [LIBRARY[.FUNCTION]]",
		Short: "Print the contract: keys, arguments, results and errors, as a page or as JSON",
		Long: `Prints what the headers promise, for every library, one library, or one function. The JSON form is neutral to languages:
a client for another language can be generated from it. Its format number goes up when its names change.`,
		Example: "  rlfunc describe\n  rlfunc describe ratelimit.gcra\n  rlfunc describe ratelimit --json",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			tree, err := a.described()
			if err != nil {
				return err
			}
			return a.describe(tree, strings.Join(args, ""))
		},
	}
}

func (a *app) describe(tree *source.Tree, name string) error {
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
		libs = []*source.Library{lib}
	}
	if a.json {
		specs := make([]spec.Library, len(libs))
		for i, lib := range libs {
			specs[i] = lib.Spec
		}
		return a.printJSON(map[string]any{"format": spec.Format, "libraries": specs})
	}
	for _, lib := range libs {
		page := reference.Page(lib)
		fmt.Fprintf(a.out, "%s", page[strings.Index(string(page), "# "):])
	}
	return nil
}

// library finds a library by its name; the error names the project, the libraries that it has, and where the named one is.
func (a *app) library(tree *source.Tree, name string) (*source.Library, error) {
	if lib, ok := tree.Library(name); ok {
		return lib, nil
	}
	var names []string
	for _, lib := range tree.Libraries {
		names = append(names, lib.Spec.Name)
	}
	if p, err := project.Find(a.dir); err == nil {
		return nil, p.Lacks(name, names)
	}
	return nil, fmt.Errorf("no library %q is built in%s (libraries: %s)", name, diag.DidYouMean(name, names), strings.Join(names, ", "))
}

func function(lib *source.Library, name string) (*spec.Function, error) {
	var names []string
	for i := range lib.Spec.Functions {
		if lib.Spec.Functions[i].Name == name {
			return &lib.Spec.Functions[i], nil
		}
		names = append(names, lib.Spec.Functions[i].Name)
	}
	return nil, fmt.Errorf("library %s has no function %q (functions: %s)", lib.Spec.Name, name, strings.Join(names, ", "))
}

// exactly takes one argument and says which is missing.
func exactly(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s takes one %s, got %d (see `%s --help`)", cmd.CommandPath(), name, len(args), cmd.CommandPath())
		}
		return nil
	}
}

// printJSON prints one value, indented, with a newline.
func (a *app) printJSON(v any) error {
	text, err := marshal(v)
	if err == nil {
		_, err = a.out.Write(text)
	}
	return err
}

func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}
