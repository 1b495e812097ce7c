package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/fcall"
)

// Flags of several commands mean the same in each: TestFlags_haveOneMeaning compares these texts.
const (
	redisUsage  = "URL of the servers: redis://host, rediss://host, unix:///path, redis+cluster://h1,h2, redis+sentinel://main@h1,h2, or embedded"
	forUsage    = "length of time, such as 90m or 1d"
	yesUsage    = "do not ask for confirmation"
	byUsage     = "operator for the records, such as a pipeline's run (default user@host)"
	policyUsage = "file of the policy (default policy.yaml or limits.yaml in the folder)"

	partialUsage        = "change the rest even if a node or a library is blocked"
	replaceDriftedUsage = "replace a library of the same version with other bytes"
)

// withRedis adds the flags that name servers.
func (a *app) withRedis(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.redis, "redis", os.Getenv("REDIS_URL"), redisUsage)
	cmd.Flags().Lookup("redis").DefValue = "$REDIS_URL"
	cmd.Flags().StringVar(&a.target, "target", "", "`NAME` of a target in rlfunc.yaml, in place of --redis")
	_ = cmd.RegisterFlagCompletionFunc("target", a.targetNames)
	return cmd
}

// withTarget adds the flags that name all nodes of a deploy.
func (a *app) withTarget(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().BoolVar(&a.noReplicas, "no-replicas", false, "ignore the replicas: neither read them nor wait for them")
	return a.withRedis(cmd)
}

func (a *app) withPolicyFile(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.policy, "policy", "", policyUsage)
	return cmd
}

func (a *app) withNamespace(cmd *cobra.Command) *cobra.Command {
	cmd.Flags().StringVar(&a.namespace, "namespace", "", "prefix of the keys (default the policy's namespace; for a call, rl)")
	return cmd
}

// withPolicy adds the flags that name a guarded service.
func (a *app) withPolicy(cmd *cobra.Command) *cobra.Command {
	return a.withRedis(a.withNamespace(a.withPolicyFile(cmd)))
}

// withBy adds the flag that names the operator.
func withBy(cmd *cobra.Command, by *string) *cobra.Command {
	cmd.Flags().StringVar(by, "by", operator(), byUsage)
	cmd.Flags().Lookup("by").DefValue = "" // the help says it in words
	return cmd
}

// applyTarget sets the flags that the operator did not give from the target that --target names.
func (a *app) applyTarget(cmd *cobra.Command) error {
	if a.target == "" {
		return nil
	}
	if cmd.Flags().Changed("redis") {
		return usageErrorf("takes --redis or --target, not both")
	}
	p, err := project.Find(a.dir)
	if err != nil {
		return fmt.Errorf("--target %s: %w", a.target, err)
	}
	t, err := p.Target(a.target)
	if err != nil {
		return err
	}
	a.redis = t.Redis
	for _, f := range []struct {
		name        string
		value, from *string
	}{{"namespace", &a.namespace, &t.Namespace}, {"policy", &a.policy, &t.Policy}} {
		if cmd.Flags().Lookup(f.name) != nil && !cmd.Flags().Changed(f.name) {
			*f.value = *f.from
		}
	}
	if !cmd.Flags().Changed("no-replicas") {
		a.noReplicas = t.NoReplicas
	}
	return nil
}

// errNoServer reports a command without --redis and --target.
var errNoServer = usageErrorf("no server: give --redis redis://host:6379, redis+cluster://host1,host2 or redis+sentinel://main@host1,host2 (or set REDIS_URL), --redis embedded, or --target NAME")

// connect opens the servers of --redis or --target, for a process that CLIENT LIST shows under a name if it has one, with the libraries that it
// calls. It sends nothing yet.
func (a *app) connect(name string, calls ...*fcall.Library) (*connection.Conn, error) {
	if a.redis == "" {
		return nil, errNoServer
	}
	return connection.Open(a.redis, name, calls...)
}

// onTarget returns what a command runs that works on the nodes of --redis or --target.
func (a *app) onTarget(do func(ctx context.Context, target *connection.Target, args []string) error) func(*cobra.Command, []string) error {
	return a.onServer(func(ctx context.Context, conn *connection.Conn, args []string) error {
		target := conn.Target()
		defer target.Close()
		if a.noReplicas {
			target.Target = target.WithoutReplicas()
		}
		return do(ctx, target, args)
	})
}

// onServer returns what a command runs that works on the servers of --redis or --target by a client.
func (a *app) onServer(do func(ctx context.Context, conn *connection.Conn, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		conn, err := a.connect("")
		if err != nil {
			return err
		}
		defer conn.Close()
		return do(cmd.Context(), conn, args)
	}
}

// onService returns what a command runs that reads the state of the service of --policy or --namespace.
func (a *app) onService(do func(ctx context.Context, s *service.Service, conn *connection.Conn, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, err := a.serviceToRead()
		if err != nil {
			return err
		}
		return a.onServer(func(ctx context.Context, conn *connection.Conn, args []string) error {
			return do(ctx, s, conn, args)
		})(cmd, args)
	}
}

// operator returns user@host.
func operator() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

var errEmbedded = errors.New("the embedded engine keeps no records: give --redis with the server that the guards use")
