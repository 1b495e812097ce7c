package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/source"
)

// Exit codes: fine, error, differences or refusals.
const (
	exitFine        = 0
	exitError       = 1
	exitDifferences = 2
)

// An exitCode ends the program with a code and without a message of its own: what there is to say has been said.
type exitCode int

func (e exitCode) Error() string { return fmt.Sprintf("exit %d", int(e)) }

// An app is what the commands share.
type app struct {
	in        io.Reader
	out, err  io.Writer // data, talk
	dir       string
	json      bool
	redis     string
	channel   string
	policy    string
	namespace string
	warned    []string // the warnings that were printed

	noReplicas  bool
	interrupted <-chan struct{} // closed by the first signal
}

// run runs one command line and returns its exit code.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := interruptible()
	defer stop()
	return runUntil(ctx, args, in, out, errOut)
}

// runUntil is run until ctx ends.
func runUntil(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	redis.SetLogger(&logging.VoidLogger{}) // what it would log comes back as an error as well
	a := &app{in: in, out: out, err: errOut, interrupted: ctx.Done()}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errOut)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitFine
	}
	var code exitCode
	if !errors.As(err, &code) {
		fmt.Fprintf(errOut, "rlfunc: %v\n", err)
		code = exitError
	}
	var s signalError
	if errors.As(context.Cause(ctx), &s) {
		return s.exitCode()
	}
	return int(code)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "rlfunc",
		Short: "Rate limits as versioned Redis Functions: generate, deploy, call",
		Long: `rlfunc turns annotated Lua into a versioned Redis Functions library and a typed Go client, puts the library on a
server, proves that it is there, and calls it.

Data goes to standard output and talk to standard error. Exit codes: 0 fine, 1 error, 2 differences or refusals,
130 interrupted.
Outside a project the libraries that rlfunc was built with stand in.`,
		Example: `  rlfunc demo
  rlfunc init mylimits
  rlfunc deploy --redis redis://127.0.0.1:6379
  rlfunc call ratelimit.sliding_log --redis redis://127.0.0.1:6379 bucket=user42 limit=10 window=1m`,
		Version:           version(),
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
		Args:              cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetVersionTemplate("rlfunc {{.Version}}\n")
	root.PersistentFlags().StringVarP(&a.dir, "dir", "C", ".", "work on the project in this folder, or above it")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print data as JSON")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return fmt.Errorf("%w (see `%s --help`)", err, cmd.CommandPath())
	})
	root.AddCommand(a.demoCommand(), a.initCommand(), a.generateCommand(), a.vetCommand(), a.bundleCommand(), a.describeCommand(), a.breakingCommand(),
		a.planCommand(), a.deployCommand(), a.verifyCommand(), a.statusCommand(), a.rollbackCommand(), a.retireCommand(), a.historyCommand(), a.doctorCommand(), a.aclCommand(), a.callCommand(), a.benchCommand(), a.policyCommand(), a.replayCommand(), a.inspectCommand(), a.blockCommand(), a.unblockCommand(), a.overrideCommand(), a.resetCommand(), a.auditCommand(), a.topCommand())
	return root
}

func unknownCommand(root *cobra.Command, name string) error {
	message := fmt.Sprintf("unknown command %q", name)
	root.SuggestionsMinimumDistance = 2
	if near := root.SuggestionsFor(name); len(near) > 0 {
		message += "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return errors.New(message + " (see `rlfunc --help`)")
}

// version is the module's, as the Go tool stamped it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}

// withRedis adds the flag that names a server.
func (a *app) withRedis(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.redis, "redis", os.Getenv("REDIS_URL"), "redis://host, rediss://host, unix:///path, redis+cluster://h1,h2, redis+sentinel://main@h1,h2 or embedded (default $REDIS_URL)")
	cmd.Flags().Lookup("redis").DefValue = ""
	return cmd
}

// withTarget adds the flags that name all nodes of a deploy.
func (a *app) withTarget(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.noReplicas, "no-replicas", false, "leave the replicas out: neither look at them nor wait for them")
	return a.withRedis(cmd)
}

// load reads and vets the project's libraries, or the built-in ones.
func (a *app) load() (*source.Tree, error) {
	p, err := project.FindOrBuiltIn(a.dir)
	if err != nil {
		return nil, err
	}
	return p.Load()
}

// described is load, with the commands that each function may run also where nothing is vetted.
func (a *app) described() (*source.Tree, error) {
	p, err := project.FindOrBuiltIn(a.dir)
	if err != nil {
		return nil, err
	}
	tree, err := p.Load()
	if err == nil && p.BuiltIn {
		codegen.Permissions(tree)
	}
	return tree, err
}

// read does the same without vetting, for commands that put nothing onto a server.
func (a *app) read() (*source.Tree, error) {
	p, err := project.FindOrBuiltIn(a.dir)
	if err != nil {
		return nil, err
	}
	return p.Read()
}

func (a *app) talk(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }
