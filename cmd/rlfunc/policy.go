package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func (a *app) policyCommand() *cobra.Command {
	return group("policy", "Check a guard's policy, and explain its decisions", a.policyCheckCommand(), a.policyExplainCommand(), a.policySchemaCommand())
}

func (a *app) policyCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE]",
		Short: "Find all errors in a policy",
		Long: `Prints every problem of a policy as file:line:column: path: message. The exit code is 2 if there is
one. It also reads the files of keys that the policy names, relative to the current folder. It cannot
check identities that come from the service's own code. FILE defaults to policy.yaml or limits.yaml.`,
		Example: "  rlfunc policy check limits.yaml",
		Args:    usage.AtMostOne("FILE"),
		RunE: func(_ *cobra.Command, args []string) error {
			file, err := a.policyFile(strings.Join(args, ""), "FILE")
			if err != nil {
				return err
			}
			return a.checkPolicy(file)
		},
	}
}

func (a *app) checkPolicy(file string) error {
	p, err := policy.Load(file)
	if wrong := (*policy.Error)(nil); errors.As(err, &wrong) {
		return a.policyProblems(wrong.Problems...)
	}
	if err != nil {
		return err
	}
	reader, err := p.Reader(stubCode(p, nil), identity.Options{})
	if err != nil {
		return a.policyProblems(policy.Problem{File: file, Message: err.Error()})
	}
	if a.json {
		return errors.Join(a.policyProblems(), reader.Close())
	}
	what := count(len(p.Endpoints), "endpoint")
	if n := len(p.Upstreams); n > 0 {
		what += " and " + count(n, "upstream")
	}
	a.note("%s: no problems in %s", file, what)
	return reader.Close()
}

// policyProblems prints the problems of a policy as data.
func (a *app) policyProblems(problems ...policy.Problem) error {
	return reporting(len(problems) > 0, a.print(map[string]any{"problems": output.List(problems)}, func() error {
		for _, p := range problems {
			fmt.Fprintln(a.out, p)
		}
		return nil
	}))
}

func (a *app) policySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of policies, for editors",
		Example: "  rlfunc policy schema >policy.schema.json",
		Args:    usage.None,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.out.Write(policy.Schema)
			return err
		},
	}
}
