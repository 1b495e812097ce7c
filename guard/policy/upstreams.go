package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/guard/identity"
)

// ByAccount is the identity that the limits of an upstream count. Its subjects are account=UPSTREAM/VALUE.
const ByAccount = "account"

// An Upstream is somebody else's API that the service calls. Its limits count the calls with one account there, by all processes together.
type Upstream struct {
	// Name begins the names of its limits in Redis and is a label in metrics: 1 to 32 of A-Z a-z 0-9 _ -. No endpoint has it. Required.
	Name string `yaml:"name" policy:"required,is=name"`
	// Match holds patterns of net/http.ServeMux, at most 64: the host and the path of the requests that outbound.Transport sends to it.
	// A host may begin with *., as in *.openai.azure.com/, which matches all names below it. A pattern without a host matches all hosts, and
	// account needs one. Defaults to none: code names the upstream.
	Match []string `yaml:"match" policy:"items=0..64,is=target"`
	// Account is which account a request uses. Defaults to the host: one account for each.
	Account *Account `yaml:"account"`
	// Limits are the limits of an account, at most 16, without by. Windows are 2 % longer in Redis, at most half a second.
	// Required unless the upstream has budgets.
	Limits []Limit `yaml:"limits" policy:"items=0..16"`
	// Budgets are what an account may spend, in money and other units, at most 16, without by. Defaults to none.
	Budgets []Budget `yaml:"budgets" policy:"items=0..16"`
	// Cost is what a call reserves of the budgets. Defaults to 0 of each.
	Cost *EndpointCost `yaml:"cost"`
	// Attempts is how often outbound.Transport sends a request at most, 1 to 10: again after a 429, and after a 503 if the request may be repeated. Each
	// attempt is decided anew. Defaults to 1.
	Attempts int `yaml:"attempts" policy:"1..10,default=1"`
	// MaxWait is how long a call waits for its turn, 0s to 1d; 0s lets it fail at once. Defaults to 30s.
	MaxWait *time.Duration `yaml:"max_wait" policy:"0s..1d,default=30s"`
}

// Account is the source of the account that a request uses. Exactly one key is set.
type Account struct {
	// Header is the name of a header, such as Authorization. The subject is a digest of its value. Defaults to none.
	Header string `yaml:"header" policy:"is=header"`
	// Path is the name of a wildcard in the patterns, such as account in api.example.com/accounts/{account}/. Defaults to none.
	Path string `yaml:"path" policy:"is=parameter"`
	// Func reads the account with a func of the service that has the upstream's name. Defaults to false.
	Func bool `yaml:"func"`
}

func hostless(pattern string) bool {
	_, host, _ := SplitPattern(pattern)
	return host == ""
}

// Upstream returns the upstream with a name, and whether there is one.
func (p *Policy) Upstream(name string) (*Upstream, bool) {
	for i := range p.Upstreams {
		if p.Upstreams[i].Name == name {
			return &p.Upstreams[i], true
		}
	}
	return nil, false
}

// isAccount reports whether an identity is that of the upstreams.
func (p *Policy) isAccount(name string) bool { return name == ByAccount && len(p.Upstreams) > 0 }

// outboundWindow returns a window that is 2 % longer, by half a second at most. Calls do not take the same time to the upstream, so one that is made just
// after a window has ended may arrive before it has ended there.
func outboundWindow(window time.Duration) time.Duration {
	return window + min(window/50, time.Second/2)
}

// Outbound returns a policy whose only endpoint is an upstream of p: what p says of the service's own clients does not hold for its calls.
func (p *Policy) Outbound(u *Upstream) *Policy {
	limits := slices.Clone(u.Limits)
	for i := range limits {
		l := &limits[i]
		if l.kind() != GCRA {
			l.Window = outboundWindow(l.Window)
		}
	}
	alone := &Policy{Namespace: p.Namespace, OnFailure: p.OnFailure, Share: p.Share, Upstreams: []Upstream{*u}, Overrides: p.Overrides}
	alone.Endpoints = []Endpoint{{Name: u.Name, Limits: limits, Unbounded: true}}
	if len(u.Budgets) > 0 {
		alone.Budgets = slices.Clone(u.Budgets)
		for i := range alone.Budgets {
			b := &alone.Budgets[i]
			b.Window, b.By = outboundWindow(b.Window), By{ByAccount}
		}
		alone.Endpoints[0].Cost = cmp.Or(u.Cost, &EndpointCost{})
	}
	return alone
}

// UpstreamOf returns the upstream that a subject is an account of, and whether there is one.
func (p *Policy) UpstreamOf(subject string) (*Upstream, bool) {
	of, ok := strings.CutPrefix(subject, ByAccount+"=")
	name, account, _ := strings.Cut(of, "/")
	if !ok || account == "" {
		return nil, false
	}
	return p.Upstream(name)
}

// ForSubject returns the policy whose limits count a subject: for an account of an upstream that of Outbound, and otherwise p.
func (p *Policy) ForSubject(subject string) *Policy {
	if u, ok := p.UpstreamOf(subject); ok {
		return p.Outbound(u)
	}
	return p
}

// Subject returns the subject of an account: account=openai/team-a of openai and team-a. "" is the account default.
func (u *Upstream) Subject(account string) string {
	return ByAccount + "=" + u.Name + "/" + identity.Value(cmp.Or(account, "default"))
}

// SecretSubject returns the subject of an account that a secret names, such as an API key. The subject has a digest of it.
func (u *Upstream) SecretSubject(secret string) string {
	if secret == "" {
		return u.Subject("")
	}
	return ByAccount + "=" + u.Name + "/" + identity.Digest(secret)
}

// completeUpstreams fills in what no tag can.
func (p *Policy) completeUpstreams() {
	for i := range p.Upstreams {
		u := &p.Upstreams[i]
		for j := range u.Limits {
			u.Limits[j].By = By{ByAccount}
		}
		for j := range u.Budgets {
			u.Budgets[j].By = By{ByAccount}
			fill(&u.Budgets[j].OnFailure, p.OnFailure)
		}
	}
}

// checkUpstreams finds upstreams that limit nothing, and accounts that no request has.
func (p *Policy) checkUpstreams(isBad func(path string) bool, found *problems) {
	if _, defined := p.Identities[ByAccount]; defined && len(p.Upstreams) > 0 {
		found.add(identityPath(ByAccount), "cannot be defined: account is what the limits of upstreams count")
	}
	for i := range p.Upstreams {
		u, at := &p.Upstreams[i], upstreamPath(i)
		if len(u.Limits)+len(u.Budgets) == 0 && !isBad(at+".limits") && !isBad(at+".budgets") {
			found.add(at, "%s has no limit: add limits or budgets", quote(u.Name))
		}
		u.checkOutbound(at, found)
		if alone := p.Outbound(u); u.Cost != nil && len(alone.Budgets) == 0 {
			found.add(at+".cost", "has no effect without budgets")
		} else if len(alone.Budgets) > 0 {
			checkBudgets(at+".budgets", u.Budgets, found)
			checkEstimates(at+".budgets", alone.Budgets, at+".cost", alone.Endpoints[0].Cost, found)
		}
		u.checkAccount(at, found)
		if u.Attempts > 1 && len(u.Match) == 0 {
			found.add(at+".attempts", "has no effect without match: code sends the requests itself")
		}
	}
}

func upstreamPath(i int) string { return fmt.Sprintf("upstreams[%d]", i) }

// checkOutbound finds limits and budgets that count something else than accounts.
func (u *Upstream) checkOutbound(at string, found *problems) {
	checkBy := func(at string, by By) {
		if len(by) > 0 && !slices.Equal(by, By{ByAccount}) {
			found.add(at+".by", "must be omitted: the limits of an upstream count its accounts")
		}
	}
	for i := range u.Limits {
		checkBy(fmt.Sprintf("%s.limits[%d]", at, i), u.Limits[i].By)
	}
	for i := range u.Budgets {
		checkBy(fmt.Sprintf("%s.budgets[%d]", at, i), u.Budgets[i].By)
	}
}

// checkAccount finds an account without a source, and one that two hosts could share by accident.
func (u *Upstream) checkAccount(at string, found *problems) {
	a := u.Account
	if a == nil {
		return
	}
	sources := 0
	for _, given := range []bool{a.Header != "", a.Path != "", a.Func} {
		if given {
			sources++
		}
	}
	switch {
	case sources != 1:
		found.add(at+".account", "must have exactly one of header, path and func, got %d", sources)
	case len(u.Match) == 0:
		found.add(at+".account", "has no effect without match: code names the account of each call")
	case a.Header != "":
		if err := identity.CheckHeader(a.Header); err != nil {
			found.add(at+".account.header", "%s", err)
		}
	}
	for j, pattern := range u.Match {
		switch at := fmt.Sprintf("%s.match[%d]", at, j); {
		case checkTarget(pattern) != "": // reported by bounds
		case a.Path != "" && !wildcards([]Endpoint{{Match: []string{pattern}}})[a.Path]:
			found.add(at, "must have the wildcard {%s}, which names the account", a.Path)
		case hostless(pattern):
			found.add(at, "must begin with a host, because account is set")
		}
	}
}
