package main

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func (a *app) policyCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "policy",
		Short: "Check a guard's policy, and explain what it does with a request",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.policyCheckCommand(), a.policyExplainCommand(), a.policySchemaCommand())
	return c
}

func (a *app) policyCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check FILE",
		Short: "Find everything that is wrong with a policy",
		Long: `Prints each problem as file:line:column: path: message. Exit code 2 when there is one. It reads the files of keys that the
policy names, from this folder; identities of the service's own code are taken as given.`,
		Example: "  rlfunc policy check limits.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			p, err := policy.Load(args[0])
			var wrong *policy.Error
			if errors.As(err, &wrong) {
				fmt.Fprintln(a.out, wrong)
				return exitCode(exitDifferences)
			}
			if err != nil {
				return err
			}
			r, err := p.Reader(codeOf(p, nil), identity.Options{})
			if err != nil {
				fmt.Fprintf(a.out, "%s: %v\n", args[0], err)
				return exitCode(exitDifferences)
			}
			a.talk("%s: nothing is wrong with %d endpoints", args[0], len(p.Endpoints))
			return r.Close()
		},
	}
}

func (a *app) policySchemaCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "schema",
		Short:   "Print the JSON Schema of policies, for editors",
		Example: "  rlfunc policy schema >schema.json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			_, err := a.out.Write(policy.Schema)
			return err
		},
	}
}

// An asked is a request as the flags of explain write it.
type asked struct {
	headers, identities []string
	from, host          string
}

func (a *app) policyExplainCommand() *cobra.Command {
	var q asked
	c := &cobra.Command{
		Use:   "explain FILE 'METHOD PATH'",
		Short: "Say who a request is from, and which limits count it",
		Long: `Reads a request as the middleware does, without Redis: its endpoint, and those that another reading of its path means; its
identities, and whether each is verified; its plan, and the overrides of the file; and whom each limit, budget and block counts it for. An
identity of the service's own code has the value that --identity gives. Overrides that are set at run time: see ` + "`rlfunc override list`" + `.`,
		Example: `  rlfunc policy explain limits.yaml 'POST /v1/chat' --header 'X-API-Key: abc' --from 203.0.113.7`,
		Args:    cobra.ExactArgs(2),
		RunE: func(_ *cobra.Command, args []string) error {
			r, err := q.request(args[1])
			if err != nil {
				return err
			}
			p, err := policy.Load(args[0])
			if err != nil {
				return err
			}
			return a.explain(p, r, &q)
		},
	}
	c.Flags().StringArrayVarP(&q.headers, "header", "H", nil, "a header of the request, `NAME: VALUE`; may be repeated")
	c.Flags().StringArrayVar(&q.identities, "identity", nil, "the `NAME=VALUE` of an identity that the service's own code reads; may be repeated")
	c.Flags().StringVar(&q.from, "from", "192.0.2.1", "the peer's `ADDRESS`")
	c.Flags().StringVar(&q.host, "host", "", "the `HOST` that the request names")
	return c
}

func (q *asked) request(line string) (*http.Request, error) {
	method, target, ok := strings.Cut(line, " ")
	if !ok || !strings.HasPrefix(target, "/") {
		return nil, fmt.Errorf("%q is no request: give METHOD and PATH, 'POST /v1/chat'", line)
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, fmt.Errorf("read the path: %w", err)
	}
	r := &http.Request{Method: method, URL: u, Host: q.host, Header: http.Header{}, RemoteAddr: q.from}
	for _, h := range q.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, fmt.Errorf("--header %q is not NAME: VALUE", h)
		}
		r.Header.Add(name, strings.TrimSpace(value))
	}
	return r, nil
}

// codeOf stands for the service's own code: an identity that it reads has the given value, or none, and what it verifies is genuine.
func codeOf(p *policy.Policy, values map[string]string) policy.Code {
	code := policy.Code{Funcs: map[string]identity.Func{}, Verifiers: map[string]identity.Verifier{}}
	for name, id := range p.Identities {
		if id.Func {
			code.Funcs[name] = func(*http.Request) (string, error) {
				if values[name] == "" {
					return "", identity.ErrNone
				}
				return values[name], nil
			}
		}
		if id.Verify != nil && id.Verify.Func {
			code.Verifiers[name] = genuine{}
		}
	}
	return code
}

func (q *asked) values(p *policy.Policy) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range q.identities {
		name, value, ok := strings.Cut(text, "=")
		if !ok || value == "" {
			return nil, fmt.Errorf("--identity %q is not NAME=VALUE", text)
		}
		if !p.Identities[name].Func {
			return nil, fmt.Errorf("--identity %s: the policy has no identity %s with func: true", text, name)
		}
		values[name] = value
	}
	return values, nil
}

func (a *app) explain(p *policy.Policy, r *http.Request, q *asked) error {
	values, err := q.values(p)
	if err != nil {
		return err
	}
	g, err := guard.New(redis.NewClient(&redis.Options{}), p, guard.Options{DenySize: -1}) // no call is made
	if err != nil {
		return err
	}
	m, err := httpguard.New(g, httpguard.Options{Code: codeOf(p, values)})
	if err != nil {
		return err
	}
	e, err := m.Explain(r)
	if err != nil {
		return fmt.Errorf("the request is refused with 400: %w", err)
	}
	if a.json {
		return a.printJSON(explanationOf(g.Policy(), e))
	}
	a.printExplanation(g.Policy(), e)
	return nil
}
