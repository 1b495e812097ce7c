package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/duration"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/functions"
	"github.com/rlfunc/rlfunc/internal/terminal"
)

// root returns the command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "rlfunc",
		Short: "Rate limits as versioned Redis Functions: generate, deploy, call",
		Long: `rlfunc generates a versioned Redis Functions library and a typed Go client from annotated Lua. It deploys the library,
verifies every node, and calls the functions.

Commands print data on standard output, and notes and errors on standard error. ` + "`rlfunc help exit-codes`" + ` lists the exit
codes. ` + "`rlfunc completion bash --help`" + ` shows how to install shell completion; zsh, fish and powershell likewise.

Outside a project, commands use the libraries that are built into rlfunc.`,
		Example: `  rlfunc demo
  rlfunc init mylimits
  rlfunc deploy --redis redis://127.0.0.1:6379
  rlfunc call ratelimit.sliding_log --redis redis://127.0.0.1:6379 subject=user42 limit=10 window=1m`,
		Version:           version(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		Args:              cobra.ArbitraryArgs,
		PersistentPreRunE: a.start,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("rlfunc {{.Version}}\n")
	root.SetFlagErrorFunc(usage.Flag)
	flags := root.PersistentFlags()
	flags.StringVarP(&a.dir, "dir", "C", ".", "folder of the project, or one below it")
	flags.BoolVar(&a.json, "json", false, "print data as JSON")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "print no notes, only data, warnings, questions and errors")
	flags.Var(&a.color, "color", "when to color; auto colors terminals unless NO_COLOR is set")
	flags.Var((*duration.Value)(&a.timeout), "timeout", "how long the command may run, such as 30s (default no limit)")
	complete(root, "color", values(terminal.ColorModes...))
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"author", "Write libraries:", []*cobra.Command{
			a.initCommand(), a.generateCommand(), a.vetCommand(), a.breakingCommand(), a.describeCommand(), a.bundleCommand(), a.configCommand(),
		}},
		{"deploy", "Deploy libraries:", []*cobra.Command{
			a.planCommand(), a.deployCommand(), a.verifyCommand(), a.statusCommand(), a.historyCommand(), a.rollbackCommand(), a.retireCommand(),
			a.doctorCommand(), a.aclCommand(),
		}},
		{"operate", "Operate a guarded service:", []*cobra.Command{
			a.inspectCommand(), a.topCommand(), a.blockCommand(), a.unblockCommand(), a.overrideCommand(), a.resetCommand(), a.auditCommand(),
			a.policyCommand(), a.replayCommand(), a.serveCommand(),
		}},
		{"try", "Try it:", []*cobra.Command{a.demoCommand(), a.callCommand(), a.benchCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	root.AddCommand(a.versionCommand(), &cobra.Command{
		Use:   "exit-codes",
		Short: "What rlfunc exits with",
		Long:  "Every command exits with one of these codes:\n\n" + exitcode.Text(),
	})
	return root
}

func unknownCommand(cmd *cobra.Command, name string) error {
	suggestion := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		suggestion = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usage.Errorf("unknown command %q%s (see `%s --help`)", name, suggestion, cmd.CommandPath())
}

// group returns a command that has only subcommands.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, RunE: func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return unknownCommand(cmd, args[0])
		}
		return cmd.Help()
	}}
	cmd.AddCommand(commands...)
	return cmd
}

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
