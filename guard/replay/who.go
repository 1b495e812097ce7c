package replay

import (
	"cmp"
	"errors"
	"fmt"
	"hash/maphash"
	"net/http"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// Subject is the field of a log that says who a request is.
type Subject string

// The fields.
const (
	ByIP   Subject = "ip"   // the client's address, as the policy's identity.ip says
	ByUser Subject = "user" // the user, taken as an API key as the policy's identity.api_key says; the address where there is none
)

// ParseSubject reads the name of a field.
func ParseSubject(name string) (Subject, error) {
	switch Subject(name) {
	case "", ByIP:
		return ByIP, nil
	case ByUser:
		return ByUser, nil
	}
	return "", fmt.Errorf("subject %q: must be ip or user", name)
}

var errAddress = errors.New("the client's address is none")

// people finds whom a line is of, as package identity does, and remembers.
type people struct {
	by        Subject
	identity  *identity.Identifier
	keyHeader string
	overrides *policy.Lookup
	shards    int
	seed      maphash.Seed
	known     map[source]*tracked
	byName    map[string]*tracked
	all       []*tracked // in the order in which they came
}

// A source is what a line says of who it is.
type source struct{ addr, user string }

func newPeople(p *policy.Policy, by Subject, shards int) (*people, error) {
	config := identity.Config{
		APIKeyHeader: p.Identity.APIKey.Header, PlainKeys: p.Identity.APIKey.Plain, IPv6Prefix: p.Identity.IP.IPv6Prefix,
	}
	if by == ByUser {
		config.From = []identity.Source{identity.APIKey, identity.IP}
	}
	id, err := identity.New(config)
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	return &people{
		by: by, identity: id, keyHeader: http.CanonicalHeaderKey(cmp.Or(p.Identity.APIKey.Header, policy.DefaultAPIKeyHeader)), overrides: p.Overrides.Lookup(), shards: shards,
		seed: maphash.MakeSeed(), known: map[source]*tracked{}, byName: map[string]*tracked{},
	}, nil
}

func (w *people) of(l *accesslog.Line) (*tracked, error) {
	s := source{addr: l.Addr}
	if w.by == ByUser && l.User != "" {
		s = source{user: l.User}
	}
	if t := w.known[s]; t != nil {
		return t, nil
	}
	r := &http.Request{RemoteAddr: s.addr}
	if s.user != "" {
		r.Header = http.Header{w.keyHeader: {s.user}}
	}
	id, err := w.identity.Identify(r)
	if err != nil {
		return nil, errAddress
	}
	t := w.byName[id.Subject]
	if t == nil {
		t = w.named(id.Subject)
	}
	w.known[source{strings.Clone(s.addr), strings.Clone(s.user)}] = t
	return t, nil
}

func (w *people) named(name string) *tracked {
	o := w.overrides.Of(name)
	t := &tracked{
		name: name, factor: o.Multiply, allow: o.Allow, deny: o.Deny,
		shard: int(maphash.String(w.seed, name) % uint64(w.shards)),
	}
	w.byName[name] = t
	w.all = append(w.all, t)
	return t
}
