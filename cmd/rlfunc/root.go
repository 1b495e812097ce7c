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
	"github.com/rlfunc/rlfunc/internal/terminal"
)

// root returns the command tree.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "rlfunc",
		Short: "Rate limits as versioned Redis Functions: generate, deploy, call",
		Long: `rlfunc runs rate limits, budgets and blocks inside Redis, as versioned Redis Functions.

New here? ` + "`rlfunc demo`" + ` shows what it does and needs no Redis. Then check a policy and run it beside
your proxy or service, or write a function of your own with ` + "`rlfunc init`" + `.

Data goes to standard output, notes and errors to standard error. ` + "`rlfunc help exit-codes`" + ` lists the
exit codes, and ` + "`rlfunc completion bash --help`" + ` shows how to install completion for bash; zsh, fish
and powershell are alike. Outside a project, commands use the libraries that are built into rlfunc.`,
		Example: `  rlfunc demo
  rlfunc call ratelimit.sliding_log --redis embedded subject=user42 limit=10 window=1m
  rlfunc policy check limits.yaml
  rlfunc deploy --redis redis://127.0.0.1:6379`,
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
	cobra.EnableCommandSorting = false // each group is in the order in which a new user needs it
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"try", "Try it:", []*cobra.Command{a.demoCommand(), a.callCommand(), a.benchCommand()}},
		{"protect", "Protect a service:", []*cobra.Command{a.policyCommand(), a.replayCommand(), a.serveCommand()}},
		{"operate", "Operate it:", []*cobra.Command{
			a.inspectCommand(), a.topCommand(), a.overrideCommand(), a.blockCommand(), a.unblockCommand(), a.resetCommand(), a.auditCommand(),
		}},
		{"deploy", "Deploy libraries:", []*cobra.Command{
			a.planCommand(), a.deployCommand(), a.verifyCommand(), a.statusCommand(), a.rollbackCommand(), a.historyCommand(), a.retireCommand(),
			a.doctorCommand(), a.aclCommand(),
		}},
		{"author", "Write functions:", []*cobra.Command{
			a.initCommand(), a.vetCommand(), a.generateCommand(), a.breakingCommand(), a.describeCommand(), a.bundleCommand(), a.configCommand(),
		}},
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
			tree, err := project.BuiltIn(a.dir).Read()
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
