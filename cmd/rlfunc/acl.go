package main

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/codegen/acl"
	"github.com/rlfunc/rlfunc/codegen/runtime"
	"github.com/rlfunc/rlfunc/codegen/source"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/override"
)

// aclOptions are the flags of acl.
type aclOptions struct {
	user        string
	namespaces  []string
	heal        bool
	cluster     bool
	announce    bool
	scripts     bool
	anyFunction bool
}

func (a *app) aclCommand() *cobra.Command {
	var o aclOptions
	cmd := &cobra.Command{
		Use:   "acl service|deployer|operator [LIBRARY ...]",
		Short: "Print the ACL rule of a user that may do one job and nothing else",
		Long: `Prints an ACL SETUSER line. Nothing is sent to a server.

  service    calls the functions of the libraries (all, or those named); with guard it reads overrides
  deployer   plan, deploy, verify, status, rollback, retire; no one's limits
  operator   calls the functions, sees what is loaded, ends a script that blocks the server, and does what inspect, top, block,
             unblock, reset, override and audit do to the subjects of a guard; loads nothing

A service and an operator may call the named functions only (+fcall|ratelimit_v1_gcra): print the line again when a new version has
new functions, and give the user the lines of both majors while two run. Redis also asks for the commands inside the functions, so the
user may run those by themselves on the keys of its namespaces: a namespace for each service keeps services apart.

With --scripts (for servers without functions) the user may run any Lua with those commands and keys. Before Redis 7.0 leave out
+eval_ro and +evalsha_ro, which the server does not know. For a server that does not take +fcall|NAME there is --any-function: the user
may then call every library's functions on its keys.

The user has no password, so nobody can use it until you give it one: ACL SETUSER NAME >PASSWORD.`,
		Example: "  rlfunc acl service ratelimit --user api\n  rlfunc acl deployer",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s takes a role: service, deployer or operator (see `%s --help`)", cmd.CommandPath(), cmd.CommandPath())
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return a.acl(args[0], args[1:], o) },
	}
	cmd.Flags().StringVar(&o.user, "user", "", "name of the user (default: the role's name)")
	cmd.Flags().StringSliceVar(&o.namespaces, "namespace", nil, "namespaces of the keys: a guard's is its policy's (default: the libraries' names)")
	cmd.Flags().BoolVar(&o.heal, "heal", false, "let the service load its library where a node has lost it: who may load may run any Lua")
	cmd.Flags().BoolVar(&o.cluster, "cluster", false, "let the service find the nodes of a cluster")
	cmd.Flags().BoolVar(&o.announce, "announce", false, "let the service say that it uses its libraries (loader.Announce), so that retire waits for it")
	cmd.Flags().BoolVar(&o.scripts, "scripts", false, "functions as scripts, for a client that sends them so: any Lua")
	cmd.Flags().BoolVar(&o.anyFunction, "any-function", false, "every function of the server, for one that does not take +fcall|NAME")
	cmd.Flags().StringVar(&a.channel, "channel", "", "channel whose functions the user may call besides (default none)")
	return cmd
}

// userName is what ACL SETUSER and the URL of a client both take.
var userName = regexp.MustCompile(`^[A-Za-z0-9_.-]+$`)

func (a *app) acl(role string, names []string, o aclOptions) error {
	if o.user == "" {
		o.user = role
	}
	if !userName.MatchString(o.user) {
		return fmt.Errorf("user %q must be of the characters A-Z a-z 0-9 _ . -", o.user)
	}
	for _, ns := range o.namespaces {
		if err := fcall.CheckNamespace(ns); err != nil {
			return err
		}
	}
	if role != "service" && (o.heal || o.cluster || o.announce || role == "deployer" && len(o.namespaces) > 0) {
		return fmt.Errorf("--heal, --cluster and --announce are for a service, --namespace for a service and an operator, not for %s", article(role))
	}
	if role == "deployer" && (o.scripts || o.anyFunction || a.channel != "") {
		return errors.New("--scripts, --any-function and --channel are for a service and an operator, not for a deployer")
	}
	var rule acl.Rule
	switch role {
	case "deployer":
		if len(names) > 0 {
			return fmt.Errorf("a deployer may deploy any library: leave out %q", names)
		}
		rule = acl.Deployer
	case "service", "operator":
		tree, err := a.described()
		if err != nil {
			return err
		}
		if rule, err = a.callers(tree, names, o.namespaces); err != nil {
			return err
		}
		if o.anyFunction {
			rule = rule.AnyFunction()
		}
		if o.scripts {
			rule = rule.Scripts()
		}
		if role == "operator" {
			rule = rule.And(acl.Watching).And(acl.Operating)
		}
		if o.heal {
			rule = rule.And(acl.Healing)
		}
		if o.cluster {
			rule = rule.And(acl.Cluster)
		}
		if o.heal && o.cluster {
			rule = rule.And(acl.HealingByKey)
		}
		if o.announce {
			rule = rule.And(acl.Announcing)
		}
	default:
		return fmt.Errorf("no role %q (roles: service, deployer, operator)", role)
	}
	if a.json {
		return a.printJSON(map[string]any{"format": 1, "user": o.user, "role": role, "keys": rule.Keys, "commands": rule.Commands, "line": rule.SetUser(o.user)})
	}
	fmt.Fprintln(a.out, rule.SetUser(o.user))
	return nil
}

// callers may call every function of the named libraries, or of all.
func (a *app) callers(tree *source.Tree, names, namespaces []string) (acl.Rule, error) {
	var rule acl.Rule
	libs := tree.Libraries
	if len(names) > 0 {
		libs = nil
		for _, name := range names {
			lib, err := a.library(tree, name)
			if err != nil {
				return rule, err
			}
			libs = append(libs, lib)
		}
	}
	if len(namespaces) == 0 {
		namespaces = []string{""}
	}
	for _, lib := range libs {
		channel, err := runtime.Library(lib).Channel(a.channel)
		if err != nil {
			return rule, err
		}
		for _, ns := range namespaces {
			rule = rule.And(acl.Library(&lib.Spec, ns)).And(acl.Library(acl.InChannel(&lib.Spec, channel.ServerName), ns))
		}
		if lib.Spec.Name == guard.Library.Name {
			rule = rule.And(acl.Reporting)
			for _, ns := range namespaces {
				rule = rule.And(a.readsOverrides(tree, cmp.Or(ns, lib.Spec.Name)))
			}
		}
	}
	return rule, nil
}

// readsOverrides lets a guard list the overrides of its namespace, and change none.
func (a *app) readsOverrides(tree *source.Tree, namespace string) (rule acl.Rule) {
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

func article(role string) string {
	if role == "operator" {
		return "an operator"
	}
	return "a " + role
}
