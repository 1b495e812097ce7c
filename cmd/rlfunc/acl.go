package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/acl"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/internal/agreed"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

// aclRoles are the roles of a user.
var aclRoles = []string{"service", "deployer", "operator"}

// aclOptions are the flags of acl.
type aclOptions struct {
	user       string
	namespaces []string
	autoLoad   bool
	cluster    bool
	identify   bool
}

func (a *app) aclCommand() *cobra.Command {
	var o aclOptions
	cmd := &cobra.Command{
		Use:   "acl service|deployer|operator [LIBRARY ...]",
		Short: "Print the least ACL rule for a service, a deployer or an operator",
		Long: `Prints the ACL SETUSER line for a Redis user that can do one job and nothing else. It does not send
the line to a server.

  service    calls the functions of all libraries, or of those you name; with guard it also reads
             overrides
  deployer   runs plan, deploy, status, rollback and retire, but cannot read or change limits
  operator   runs inspect, top, block, unblock, reset, override and history, calls what a service does,
             lists libraries, and can end a script that blocks the server, but cannot load anything

A service and an operator may call only the functions that exist now (+fcall|ratelimit_v1_gcra), so
print the line again when a new version adds functions. The word reset in it takes away all that the
user has, also its password: leave it out to add to a user, such as the second of two major versions.

Redis checks permissions inside functions, too. So the user may also run the commands that the
functions use, on the keys of its namespaces. Give each service a namespace of its own to keep them
apart.

The user cannot connect until you give it a password: ACL SETUSER NAME >PASSWORD.`,
		Example: "  rlfunc acl service ratelimit --user api\n  rlfunc acl deployer",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageErrorf("needs a role: service, deployer or operator (see `%s --help`)", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return a.acl(cmd.Context(), args[0], args[1:], o) },
	}
	cmd.Flags().StringVar(&o.user, "user", "", "name of the user (default the role)")
	cmd.Flags().StringSliceVar(&o.namespaces, "namespaces", nil, "prefixes of the keys; a guard's is its policy's namespace (default [rl])")
	cmd.Flags().BoolVar(&o.autoLoad, "auto-load", false, "permission to load the libraries where a node lost them; with it the service may run any Lua")
	cmd.Flags().BoolVar(&o.cluster, "cluster", false, "permission to find the nodes of a cluster")
	cmd.Flags().BoolVar(&o.identify, "identify", false, "permission to say which libraries the service uses, so that plan, deploy and retire see it; needs Redis 7.2")
	return cmd
}

// userName matches names that both ACL SETUSER and the URL of a client accept.
var userName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

func (a *app) acl(ctx context.Context, role string, names []string, o aclOptions) error {
	if o.user == "" {
		o.user = role
	}
	if !userName.MatchString(o.user) {
		return usageErrorf("--user must be of the characters A-Z a-z 0-9 _ . -, got %q", o.user)
	}
	for _, ns := range o.namespaces {
		if err := fcall.CheckNamespace(ns); err != nil {
			return err
		}
	}
	if role != "service" && (o.autoLoad || o.cluster || o.identify || role == "deployer" && len(o.namespaces) > 0) {
		return usageErrorf("--auto-load, --cluster and --identify are for a service, --namespaces for a service and an operator, not for role %s", role)
	}
	var rule acl.Rule
	switch role {
	case "deployer":
		if len(names) > 0 {
			return usageErrorf("a deployer may deploy any library: remove %s", strings.Join(names, " "))
		}
		rule = acl.Deployer
	case "service", "operator":
		p, err := project.FindOrBuiltIn(a.dir)
		if err != nil {
			return err
		}
		projects := []*project.Project{p}
		if role == "operator" && len(names) == 0 && !p.BuiltIn { // its commands call the built-in libraries
			projects = append(projects, project.BuiltIn(a.dir))
		}
		for _, p := range projects {
			tree, err := p.Describe(ctx)
			if err != nil {
				return err
			}
			calls, err := a.callers(tree, names, o.namespaces)
			if err != nil {
				return err
			}
			rule = rule.And(calls)
		}
		if role == "operator" {
			rule = rule.And(acl.Watching).And(acl.Operating)
		}
		if o.autoLoad {
			rule = rule.And(acl.AutoLoading)
		}
		if o.cluster {
			rule = rule.And(acl.Cluster)
		}
		if o.autoLoad && o.cluster {
			rule = rule.And(acl.AutoLoadingByKey)
		}
		if o.identify {
			rule = rule.And(acl.Identifying)
		}
	default:
		return usageErrorf("no role %q%s (roles: %s)", role, spelling.DidYouMean(role, aclRoles), strings.Join(aclRoles, ", "))
	}
	if a.json {
		return a.printJSON(map[string]any{"user": o.user, "role": role, "keys": rule.Keys, "channels": orEmpty(rule.Channels), "commands": rule.Commands, "line": rule.SetUser(o.user)})
	}
	fmt.Fprintln(a.out, rule.SetUser(o.user))
	return nil
}

// callers returns a rule for every function of the named libraries, or of all.
func (a *app) callers(tree *codegen.Tree, names, namespaces []string) (acl.Rule, error) {
	var rule acl.Rule
	libs, err := a.sources(tree, names)
	if err != nil {
		return rule, err
	}
	if len(namespaces) == 0 {
		namespaces = []string{agreed.Namespace}
	}
	for _, lib := range libs {
		for _, ns := range namespaces {
			rule = rule.And(acl.Library(&lib.Spec, ns))
		}
		if lib.Spec.Name == guard.Library.Name {
			rule = rule.And(acl.Reporting)
			for _, ns := range namespaces {
				rule = rule.And(a.readsOverrides(tree, ns))
			}
		}
	}
	return rule, nil
}

// readsOverrides returns a rule for listing the overrides of a namespace, without changing them.
func (a *app) readsOverrides(tree *codegen.Tree, namespace string) (rule acl.Rule) {
	lib, ok := tree.Library(override.Library.Name)
	if !ok {
		return rule
	}
	for i := range lib.Spec.Functions {
		if fn := &lib.Spec.Functions[i]; fn.Has("no-writes") {
			rule = rule.And(acl.Function(&lib.Spec, fn, namespace))
		}
	}
	return rule
}
