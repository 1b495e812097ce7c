package replay

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
)

// Subject is the field of a log that identifies the client.
type Subject string

// The fields.
const (
	ByIP   Subject = "ip"   // the client's address, by the policy's identities
	ByUser Subject = "user" // also the user, as the first identity of the policy's client that is not an address
)

// ParseSubject reads the name of a field.
func ParseSubject(name string) (Subject, error) {
	switch Subject(name) {
	case "", ByIP:
		return ByIP, nil
	case ByUser:
		return ByUser, nil
	}
	return "", fmt.Errorf("subject must be ip or user, got %q", name)
}

var errAddress = errors.New("the client's address is not valid")

// clients identifies the clients of lines with package identity, and caches them.
type clients struct {
	policy    *policy.Policy
	user      string   // the identity of a line's user; "" if users do not count
	addresses []string // those of its address
	identity  *identity.Reader
	known     map[source]*client
	numbers   map[string]int // of clients by their subjects
}

// A client is the client of a line.
type client struct {
	number int // of its subjects, in order of appearance
	found  identity.Found
}

// userHeader passes the user of a line to package identity, so that subjects are the same as in requests.
const userHeader = "X-User"

// A source holds the fields of a line that identify its client.
type source struct{ addr, user string }

func newClients(p *policy.Policy, by Subject) (*clients, error) {
	w := &clients{policy: p, known: map[source]*client{}, numbers: map[string]int{}}
	identities := map[string]policy.Identity{}
	if by == ByUser {
		own := p.Alternatives(policy.ByClient)
		i := slices.IndexFunc(own, func(name string) bool { return !p.OfAddress(name) })
		if i < 0 {
			return nil, fmt.Errorf("subject user: the policy's client is %s, which is an address", strings.Join(own, " or "))
		}
		w.user = own[i]
		identities[w.user] = policy.Identity{Header: userHeader, Fold: p.Identities[w.user].Fold}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Identities)) {
		if id := p.Identities[name]; p.OfAddress(name) {
			w.addresses = append(w.addresses, name)
			identities[name] = policy.Identity{IPv4Prefix: id.IPv4Prefix, IPv6Prefix: id.IPv6Prefix}
		}
	}
	var err error
	w.identity, err = identity.New(identities, policy.Code{}, identity.Options{})
	return w, err
}

func (w *clients) of(l *line) (*client, error) {
	s := source{addr: l.addr}
	if w.user != "" {
		s.user = l.user
	}
	if c, ok := w.known[s]; ok {
		return c, nil
	}
	r := &http.Request{RemoteAddr: s.addr}
	if s.user != "" {
		r.Header = http.Header{userHeader: {s.user}}
	}
	found, err := w.identity.Read(r, nil)
	if err == nil && len(found.Subjects) == 0 {
		err = errAddress
	}
	if err != nil {
		return nil, err
	}
	subjects := strings.Join(found.Subjects, "+")
	number, ok := w.numbers[subjects]
	if !ok {
		number = len(w.numbers)
		w.numbers[subjects] = number
	}
	c := &client{number, found}
	w.known[source{strings.Clone(s.addr), strings.Clone(s.user)}] = c
	return c, nil
}

// separate reports whether no limit counts two clients together, so that each can have a guard of its own.
func (w *clients) separate() bool {
	alone := func(limits []policy.Limit) bool {
		return !slices.ContainsFunc(limits, func(l policy.Limit) bool { return l.By.Global() })
	}
	if w.user != "" || len(w.addresses) > 1 || !alone(w.policy.Limits) {
		return false
	}
	return !slices.ContainsFunc(w.policy.Endpoints, func(e policy.Endpoint) bool { return !alone(e.Limits) })
}

// tells reports whether lines have an identity of each of these names.
func (w *clients) tells(by policy.By) bool {
	return by.Global() || !slices.ContainsFunc(by, func(name string) bool {
		return !slices.ContainsFunc(w.policy.Alternatives(name), func(one string) bool { return one == w.user || slices.Contains(w.addresses, one) })
	})
}

// leftOut returns the limits, budgets and blocks that the log does not tell enough about.
func (w *clients) leftOut() (all []LeftOut) {
	add := func(name string, by policy.By, why string) {
		switch {
		case why != "":
		case !w.tells(by):
			why = "the log does not have its identity"
		default:
			return
		}
		all = append(all, LeftOut{Name: name, By: by, Why: why})
	}
	limits := func(endpoint string, limits []policy.Limit) {
		for i := range limits {
			l, why := &limits[i], ""
			if l.Kind == policy.Concurrency {
				why = "a log does not say which requests ran at the same time"
			}
			add(agreed.LimitName(endpoint, l.Name), l.By, why)
		}
	}
	p := w.policy
	limits("", p.Limits)
	for i := range p.Endpoints {
		limits(p.Endpoints[i].Name, p.Endpoints[i].Limits)
	}
	for i := range p.Budgets {
		add(p.Budgets[i].Name, p.Budgets[i].By, "")
	}
	for i := range p.Blocks {
		add("block "+p.Blocks[i].Name, p.Blocks[i].By, "")
	}
	return all
}
