package replay

import (
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

// Subject is the field of a log that identifies the client.
type Subject string

// The fields.
const (
	ByIP   Subject = "ip"   // the client's address, by the policy's identities
	ByUser Subject = "user" // the user, as the first identity of the policy's client that is not an address; or else the address
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
	coverage  coverage
	identity  *identity.Reader
	overrides *policy.Lookup
	shards    int
	seed      maphash.Seed
	known     map[source]client
	byName    map[string]*tracked
	all       []*tracked // in order of appearance
}

// A client is the client of a line, with its overrides.
type client struct {
	*tracked
	allow, deny bool // by the policy's overrides of any of its identities
	planned     bool // it has a plan of the policy, with other limits
}

// userHeader passes the user of a line to package identity, so that subjects are the same as in requests.
const userHeader = "X-User"

// A source holds the fields of a line that identify its client.
type source struct{ addr, user string }

func newClients(w coverage, shards int) (*clients, error) {
	var identities []identity.Config
	if w.user != "" {
		identities = append(identities, identity.Config{Name: w.user, Header: userHeader})
	}
	for _, name := range slices.Sorted(maps.Keys(w.policy.Identities)) {
		if id := w.policy.Identities[name]; w.policy.OfAddress(name) {
			identities = append(identities, identity.Config{Name: name, Address: true, IPv4Prefix: id.IPv4Prefix, IPv6Prefix: id.IPv6Prefix})
		}
	}
	reader, err := identity.New(identity.Options{}, identities...)
	if err != nil {
		return nil, err
	}
	return &clients{
		coverage: w, identity: reader, overrides: w.policy.Overrides.Lookup(), shards: shards,
		seed: maphash.MakeSeed(), known: map[source]client{}, byName: map[string]*tracked{},
	}, nil
}

func (w *clients) of(l *accesslog.Line) (client, error) {
	s := source{addr: l.Addr}
	if w.coverage.user != "" {
		s.user = l.User
	}
	if c, ok := w.known[s]; ok {
		return c, nil
	}
	r := &http.Request{RemoteAddr: s.addr}
	if s.user != "" {
		r.Header = http.Header{userHeader: {s.user}}
	}
	found, err := w.identity.Read(r, nil)
	if err != nil {
		return client{}, err
	}
	name, user := "", false
	if w.coverage.user != "" {
		name = found.Subject(w.coverage.user)
		user = name != ""
	}
	if !user {
		name = found.Subject(w.coverage.address)
	}
	if name == "" {
		return client{}, errAddress
	}
	t := w.byName[name]
	if t == nil {
		t = w.named(name, user)
	}
	c := client{tracked: t, planned: w.coverage.policy.Plan(found.Subjects) != ""}
	for _, one := range found.Subjects {
		o := w.overrides.Of(one)
		c.allow, c.deny = c.allow || o.Allow, c.deny || o.Deny
	}
	w.known[source{strings.Clone(s.addr), strings.Clone(s.user)}] = c
	return c, nil
}

func (w *clients) named(name string, user bool) *tracked {
	t := &tracked{
		name: name, user: user, factor: w.overrides.Of(name).Multiply, shard: int(maphash.String(w.seed, name) % uint64(w.shards)),
	}
	w.byName[name] = t
	w.all = append(w.all, t)
	return t
}
