package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A requestFlags is a request in flags.
type requestFlags struct {
	descriptors         []string
	headers, identities []string
	address, host       string
}

func (a *app) policyExplainCommand() *cobra.Command {
	var q requestFlags
	c := &cobra.Command{
		Use:   "explain [FILE] ['METHOD PATH']",
		Short: "Explain a request's identities, and which limits count it",
		Long: `Reads a request as the middleware does, without Redis. It prints the endpoint, and the endpoints by other readings of the path; the
identities, and whether each is verified; the plan, and the overrides of the file; and the subject that each limit, budget and block
counts. --descriptor explains the descriptors of one rate limit request of Envoy in place of a request: the entry of the policy that each
matches, and what they count together. --identity gives the value of an identity of the service's own code. It does not know overrides that were set at run time; see
` + "`rlfunc override list`" + `. FILE defaults to policy.yaml or limits.yaml in the folder.`,
		Example: `  rlfunc policy explain limits.yaml 'POST /v1/chat' --header 'X-API-Key: abc' --address 203.0.113.7
  rlfunc policy explain limits.yaml --descriptor 'edge route=login remote_address=203.0.113.7'`,
		Args: func(_ *cobra.Command, args []string) error { return q.check(args) },
		RunE: func(_ *cobra.Command, args []string) error {
			var r *http.Request
			var err error
			if len(q.descriptors) == 0 {
				if r, err = q.request(args[len(args)-1]); err != nil {
					return err
				}
				args = args[:len(args)-1]
			}
			file, err := a.policyFile(strings.Join(args, ""), "FILE")
			if err != nil {
				return err
			}
			if r == nil {
				return a.explainDescriptors(file, &q)
			}
			p, err := policy.Load(file)
			if err != nil {
				return err
			}
			return a.explainRequest(p, r, &q)
		},
	}
	c.Flags().StringArrayVarP(&q.headers, "header", "H", nil, "`NAME: VALUE` of a header; may be repeated")
	c.Flags().StringArrayVar(&q.identities, "identity", nil, "`NAME=VALUE` of an identity of the service's own code; may be repeated")
	c.Flags().StringArrayVar(&q.descriptors, "descriptor", nil, "`DESCRIPTOR` of Envoy in place of a request: a domain and entries KEY=VALUE, between spaces; may be repeated")
	c.Flags().StringVar(&q.address, "address", "192.0.2.1", "`ADDRESS` of the peer")
	c.Flags().StringVar(&q.host, "host", "", "`HOST` of the request (default none)")
	return c
}

func (q *requestFlags) request(line string) (*http.Request, error) {
	method, target, ok := strings.Cut(line, " ")
	if !ok || !strings.HasPrefix(target, "/") {
		return nil, usage.Errorf("%q is not a request: give METHOD and PATH, such as 'POST /v1/chat'", line)
	}
	u, err := url.ParseRequestURI(target)
	if err != nil {
		return nil, fmt.Errorf("read the path: %w", err)
	}
	r := &http.Request{Method: method, URL: u, Host: q.host, Header: http.Header{}, RemoteAddr: q.address}
	for _, h := range q.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok {
			return nil, usage.Errorf("--header must be NAME: VALUE, got %q", h)
		}
		r.Header.Add(name, strings.TrimSpace(value))
	}
	return r, nil
}

// stubCode replaces the service's own code: its identities have the given values or none, and it verifies every value.
func stubCode(p *policy.Policy, values map[string]string) policy.Code {
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
			code.Verifiers[name] = acceptAll{}
		}
	}
	return code
}

func (q *requestFlags) values(p *policy.Policy) (map[string]string, error) {
	values := map[string]string{}
	for _, text := range q.identities {
		name, value, ok := strings.Cut(text, "=")
		if !ok || value == "" {
			return nil, usage.Errorf("--identity must be NAME=VALUE, got %q", text)
		}
		if !p.Identities[name].Func {
			return nil, usage.Errorf("--identity %s: the policy has no identity %s with func: true", text, name)
		}
		values[name] = value
	}
	return values, nil
}

func (a *app) explainRequest(p *policy.Policy, r *http.Request, q *requestFlags) error {
	values, err := q.values(p)
	if err != nil {
		return err
	}
	g, err := guard.New(redis.NewClient(&redis.Options{}), p, guard.Options{CacheSize: -1}) // no call is made
	if err != nil {
		return err
	}
	m, err := httpguard.New(g, httpguard.Options{Code: stubCode(p, values)})
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

func (q *requestFlags) check(args []string) error {
	switch {
	case len(q.descriptors) > 0 && len(args) > 1:
		return usage.Errorf("takes FILE and no request with --descriptor; got %d arguments", len(args))
	case len(q.descriptors) == 0 && (len(args) < 1 || len(args) > 2):
		return usage.Errorf("needs 'METHOD PATH', such as 'POST /v1/chat', after FILE if it is given; got %d arguments", len(args))
	}
	return nil
}
