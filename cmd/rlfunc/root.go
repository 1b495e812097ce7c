package main

import (
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
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
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error { return a.applyTarget(cmd) },
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.StringVarP(&a.dir, "dir", "C", ".", "folder of the project, or one below it")
	flags.BoolVar(&a.json, "json", false, "print data as JSON")
	cobra.EnableCommandSorting = false // groups and commands are in the order of their work
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{"write", "Write functions:", []*cobra.Command{a.initCommand(), a.generateCommand(), a.vetCommand(), a.breakingCommand()}},
		{"deploy", "Deploy them:", []*cobra.Command{
			a.planCommand(), a.deployCommand(), a.statusCommand(), a.rollbackCommand(), a.retireCommand(), a.historyCommand(), a.aclCommand(),
		}},
		{"protect", "Protect a service:", []*cobra.Command{a.policyCommand(), a.replayCommand(), a.serveCommand()}},
		{"operate", "Operate it:", []*cobra.Command{
			a.inspectCommand(), a.topCommand(), a.blockCommand(), a.unblockCommand(), a.overrideCommand(), a.resetCommand(),
		}},
		{"try", "Try it:", []*cobra.Command{a.demoCommand(), a.callCommand()}},
	} {
		root.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, cmd := range group.commands {
			cmd.GroupID = group.id
			root.AddCommand(cmd)
		}
	}
	var codes strings.Builder
	for _, row := range exitCodes {
		fmt.Fprintf(&codes, "%5d  %s\n", row.code, row.meaning)
	}
	root.AddCommand(&cobra.Command{
		Use:   "exit-codes",
		Short: "What rlfunc exits with",
		Long:  "Every command exits with one of these codes:\n\n" + codes.String(),
	})
	wrap(root)
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Example = "  rlfunc help deploy"
		help.Args = func(_ *cobra.Command, args []string) error {
			if found, rest, err := root.Find(args); err != nil || len(rest) > 0 {
				return unknownCommand(found, args[len(args)-max(len(rest), 1)])
			}
			return nil
		}
	}
	return root
}

// helpWidth is the width of help texts in columns.
const helpWidth = 100

// wrap fills the paragraphs of the help of a command and those below it. Indented lines stay.
func wrap(cmd *cobra.Command) {
	var b strings.Builder
	column := 0
	for line := range strings.Lines(cmd.Long) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == ' ' {
			if column > 0 {
				b.WriteByte('\n')
			}
			b.WriteString(line + "\n")
			column = 0
			continue
		}
		for word := range strings.FieldsSeq(line) {
			switch {
			case column > 0 && column+1+len(word) > helpWidth:
				b.WriteString("\n")
				column = 0
			case column > 0:
				b.WriteByte(' ')
				column++
			}
			b.WriteString(word)
			column += len(word)
		}
	}
	cmd.Long = strings.TrimSuffix(b.String(), "\n")
	for _, below := range cmd.Commands() {
		wrap(below)
	}
}

func unknownCommand(cmd *cobra.Command, name string) error {
	suggestion := ""
	cmd.SuggestionsMinimumDistance = 2
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		suggestion = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return usageErrorf("unknown command %q%s (see `%s --help`)", name, suggestion, cmd.CommandPath())
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
