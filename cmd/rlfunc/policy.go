package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/envoyguard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/inspect"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func (a *app) policyCommand() *cobra.Command {
	return group("policy", "Check a guard's policy, and explain its decisions", a.policyCheckCommand(), a.policyExplainCommand())
}

func (a *app) policyCheckCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "check [FILE]",
		Short: "Find all errors in a policy",
		Long: `Prints every problem of a policy as file:line:column: path: message. The exit code is 2 if there is
one. Warnings name what is allowed and probably not meant; they don't change the exit code. It also reads the files of keys that the policy names, relative to the current folder. It cannot
check identities that come from the service's own code. FILE defaults to policy.yaml or limits.yaml.`,
		Example: "  rlfunc policy check limits.yaml",
		Args:    atMostOneArgument("FILE"),
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
		return a.policyProblems(nil, wrong.Problems...)
	}
	if err != nil {
		return err
	}
	warnings := p.Warnings()
	reader, err := p.Reader(stubCode(p, nil), identity.Options{})
	if err != nil {
		return a.policyProblems(warnings, policy.Problem{File: file, Message: err.Error()})
	}
	if a.json {
		return errors.Join(a.policyProblems(warnings), reader.Close())
	}
	for _, w := range warnings {
		a.note("warning: %s: %s", file, w)
	}
	what := count(len(p.Endpoints), "endpoint")
	if n := len(p.Upstreams); n > 0 {
		what += " and " + count(n, "upstream")
	}
	a.note("%s: no problems in %s", file, what)
	return reader.Close()
}

// policyProblems prints the problems of a policy as data, and in JSON its warnings, too.
func (a *app) policyProblems(warnings []policy.Problem, problems ...policy.Problem) error {
	return reporting(len(problems) > 0, a.print(map[string]any{"problems": orEmpty(problems), "warnings": orEmpty(warnings)}, func() error {
		for _, p := range problems {
			fmt.Fprintln(a.out, p)
		}
		return nil
	}))
}

// A requestFlags is a request in flags.
type requestFlags struct {
	descriptors         []string
	headers, identities []string
	address             string
}

func (a *app) policyExplainCommand() *cobra.Command {
	var q requestFlags
	c := &cobra.Command{
		Use:   "explain [FILE] ['METHOD PATH']",
		Short: "Explain a request's identities, and which limits count it",
		Long: `Shows how the middleware would read a request: its endpoint; its identities, and which are verified; its
plan; the overrides in the file; and whom each limit, budget and block counts. It does not need Redis, so it does not know overrides that
were set at run time; see ` + "`rlfunc override list`" + `.

--descriptor explains a rate limit request of Envoy instead: which entry of the policy each descriptor
matches, and what they count together. --identity gives the value of an identity that the service's
own code would give. FILE defaults to policy.yaml or limits.yaml.`,
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
			p, err := policy.Load(file)
			if err != nil {
				return err
			}
			values, err := q.values(p)
			if err != nil {
				return err
			}
			g, err := guard.New(redis.NewClient(&redis.Options{ContextTimeoutEnabled: true}), p, guard.Options{CacheSize: -1}) // no call is made
			if err != nil {
				return err
			}
			defer g.Close()
			code := stubCode(p, values)
			if r == nil {
				return a.explainDescriptors(g, code, &q)
			}
			m, err := httpguard.New(g, httpguard.Options{Code: code})
			if err != nil {
				return fmt.Errorf("%s: %w", file, errors.Unwrap(err)) // what the policy names is missing
			}
			e, err := m.Explain(r)
			if err != nil {
				return fmt.Errorf("the request is refused with 400: %w", err)
			}
			return a.explain(&inspect.Explained{Policy: g.Policy(), Guard: e})
		},
	}
	c.Flags().StringArrayVarP(&q.headers, "header", "H", nil, "`NAME: VALUE` of a header; may be repeated")
	c.Flags().StringArrayVar(&q.identities, "identity", nil, "`NAME=VALUE` of an identity of the service's own code; may be repeated")
	c.Flags().StringArrayVar(&q.descriptors, "descriptor", nil, "`DESCRIPTOR` of Envoy in place of a request: a domain and entries KEY=VALUE, between spaces; may be repeated")
	c.Flags().StringVar(&q.address, "address", "192.0.2.1", "`ADDRESS` of the peer")
	return c
}

// request returns the request that a server reads.
func (q *requestFlags) request(line string) (*http.Request, error) {
	text := line + " HTTP/1.1\r\n" + strings.Join(append(q.headers, "\r\n"), "\r\n")
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
	if err != nil {
		return nil, usageErrorf("needs a request, such as 'POST /v1/chat', and headers as --header 'NAME: VALUE': %w", err)
	}
	r.RemoteAddr = q.address
	return r, nil
}

// acceptAll replaces a verifier of the service's own code.
type acceptAll struct{}

func (acceptAll) Verify(_ context.Context, value string) (string, error) { return value, nil }

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
			return nil, usageErrorf("--identity must be NAME=VALUE, got %q", text)
		}
		if !p.Identities[name].Func {
			return nil, usageErrorf("--identity %s: the policy has no identity %s with func: true", text, name)
		}
		values[name] = value
	}
	return values, nil
}

func (q *requestFlags) check(args []string) error {
	switch {
	case len(q.descriptors) > 0 && len(args) > 1:
		return usageErrorf("takes FILE and no request with --descriptor; got %d arguments", len(args))
	case len(q.descriptors) == 0 && (len(args) < 1 || len(args) > 2):
		return usageErrorf("needs 'METHOD PATH', such as 'POST /v1/chat', after FILE if it is given; got %d arguments", len(args))
	}
	return nil
}

// rateLimitRequest returns the request of Envoy with the descriptors of the flags.
func (q *requestFlags) rateLimitRequest() (*ratelimitv3.RateLimitRequest, error) {
	r := &ratelimitv3.RateLimitRequest{}
	for _, text := range q.descriptors {
		fields := strings.Fields(text)
		if len(fields) < 2 {
			return nil, usageErrorf("--descriptor must be a domain and entries, such as 'edge route=login', got %q", text)
		}
		if r.Domain != "" && r.Domain != fields[0] {
			return nil, usageErrorf("a request has one domain, got %s and %s", r.Domain, fields[0])
		}
		d := &commonv3.RateLimitDescriptor{}
		r.Domain = fields[0]
		for _, entry := range fields[1:] {
			key, value, ok := strings.Cut(entry, "=")
			if !ok {
				return nil, usageErrorf("--descriptor: an entry must be KEY=VALUE, got %q", entry)
			}
			d.Entries = append(d.Entries, &commonv3.RateLimitDescriptor_Entry{Key: key, Value: value})
		}
		r.Descriptors = append(r.Descriptors, d)
	}
	return r, nil
}

// explainDescriptors prints how rlfunc serve would decide a request of Envoy.
func (a *app) explainDescriptors(g *guard.Guard, code policy.Code, q *requestFlags) error {
	r, err := q.rateLimitRequest()
	if err != nil {
		return err
	}
	s, err := envoyguard.New(g, envoyguard.Options{Code: code})
	if err != nil {
		return err
	}
	e, err := s.Explain(r)
	if err != nil {
		return fmt.Errorf("explain the descriptors: %w", err)
	}
	x := &inspect.Explained{Policy: g.Policy(), Guard: e.Guard}
	for i, rule := range e.Rules {
		d := inspect.Descriptor{Descriptor: q.descriptors[i], Rule: rule}
		if rule >= 0 {
			d.Endpoint = x.Policy.Descriptors[rule].Endpoint
		}
		x.Descriptors = append(x.Descriptors, d)
	}
	if e.Answer != nil {
		x.Answer, x.Error = e.Answer.OverallCode.String(), e.Answer.GetDynamicMetadata().GetFields()["error"].GetStringValue()
	}
	return a.explain(x)
}

func (a *app) explain(x *inspect.Explained) error {
	return a.print(x, func() error { return x.WriteText(a.out) })
}
