package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/dyncall"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/codegen/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/fcall"
)

type callFlags struct {
	namespace string
	calls     int
	workers   int
}

func (a *app) callCommand() *cobra.Command {
	var f callFlags
	cmd := &cobra.Command{
		Use:   "call LIBRARY.FUNCTION name=value ...",
		Short: "Call a function by its argument names and units",
		Long: `Calls a function as a generated client does. Arguments go by their header names and carry their units: limit=10
window=1m receipt=abc refresh=true; rows of a group are written limits.0.limit=10, and
a packed row's own subject limits.0.of=user42. rlfunc rejects wrong, missing and repeated arguments before it sends anything.

Results are printed by their header names; with --json as one object, durations in seconds. The exit code is 2 when the
call was refused, by the result that the function's header names (@refused, or a bool named allowed). With -n many calls are made, and counted by outcome.`,
		Example: `  rlfunc call ratelimit.sliding_log --redis embedded bucket=user42 limit=10 window=1m
  rlfunc call ratelimit.gcra --redis redis://127.0.0.1:6379 bucket=user42 limit=100 period=1m cost=3 --json
  rlfunc call ratelimit.sliding_log --redis redis://127.0.0.1:6379 bucket=u1 limit=10 window=1m -n 50 -c 50`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.call(cmd.Context(), args, f)
		},
	}
	cmd.Flags().StringVar(&f.namespace, "namespace", "", "what the keys begin with (default the library's name)")
	cmd.Flags().IntVarP(&f.calls, "calls", "n", 1, "make so many calls")
	cmd.Flags().IntVarP(&f.workers, "workers", "c", 1, "from so many workers at once")
	return a.withRedis(a.withChannel(cmd))
}

func (a *app) call(ctx context.Context, args []string, f callFlags) error {
	if len(args) == 0 || strings.Contains(args[0], "=") {
		return fmt.Errorf("call which function? write LIBRARY.FUNCTION first, as `rlfunc call ratelimit.gcra bucket=u1 ...`")
	}
	if f.calls < 1 || f.workers < 1 {
		return fmt.Errorf("-n and -c must be 1 or more, got %d and %d", f.calls, f.workers)
	}
	conn, call, err := a.prepare(ctx, args, f.namespace)
	if err != nil {
		return err
	}
	defer conn.close()
	if f.calls > 1 {
		return a.callMany(ctx, call, f)
	}
	result, err := call.Do(ctx)
	if err != nil {
		return conn.explain(ctx, err)
	}
	if a.json {
		err = a.printJSON(result)
	} else {
		_, err = fmt.Fprintln(a.out, strings.Join(result.Lines(), "\n"))
	}
	if err == nil && result.Refused() {
		return exitCode(exitDifferences)
	}
	return err
}

// prepare checks a function's name and arguments, and has it ready to be called. The caller closes the connection.
func (a *app) prepare(ctx context.Context, args []string, namespace string) (*connection, *dyncall.Call, error) {
	tree, err := a.read()
	if err != nil {
		return nil, nil, err
	}
	lib, fn, err := a.findFunction(tree, args[0])
	if err != nil {
		return nil, nil, err
	}
	conn, err := a.connect()
	if err != nil {
		return nil, nil, err
	}
	call, err := a.prepareOn(ctx, conn, runtime.Library(lib), fn, args[1:], namespace)
	if err != nil {
		conn.close()
		return nil, nil, err
	}
	return conn, call, nil
}

func (a *app) prepareOn(ctx context.Context, conn *connection, lib *fcall.Library, fn *spec.Function, words []string, namespace string) (*dyncall.Call, error) {
	client, err := fcall.NewClient(conn.client, lib, fcall.Options{Namespace: namespace, Channel: a.channel, NoHeal: true})
	if err != nil {
		return nil, err
	}
	call, err := dyncall.New(client, fn, words)
	if err != nil {
		return nil, err
	}
	return call, conn.ensure(ctx, client.Library())
}

func (a *app) callMany(ctx context.Context, call *dyncall.Call, f callFlags) error {
	s := call.Many(ctx, f.calls, f.workers)
	if a.json {
		if err := a.printJSON(s); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(a.out, strings.Join(s.Lines(), "\n"))
	}
	if s.Errors > 0 {
		return fmt.Errorf("%d of %d calls: %w", s.Errors, s.Calls, s.FirstError)
	}
	return nil
}

func (a *app) findFunction(tree *source.Tree, name string) (*source.Library, *spec.Function, error) {
	libName, fnName, ok := strings.Cut(name, ".")
	if !ok {
		return nil, nil, fmt.Errorf("%q is not LIBRARY.FUNCTION%s", name, ofALibrary(tree, name))
	}
	lib, err := a.library(tree, libName)
	if err != nil {
		return nil, nil, err
	}
	fn, err := function(lib, fnName)
	return lib, fn, err
}

// ofALibrary is the end of a message about a function's name without its library's.
func ofALibrary(tree *source.Tree, name string) string {
	var found []string
	for _, lib := range tree.Libraries {
		if _, err := function(lib, name); err == nil {
			found = append(found, lib.Spec.Name+"."+name)
		}
	}
	if found == nil {
		return ""
	}
	return "; did you mean " + strings.Join(found, " or ") + "?"
}
