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

// Subject is the field of a log that says who a request is.
type Subject string

// The fields.
const (
	ByIP   Subject = "ip"   // the client's address, as the policy's identities make a subject of it
	ByUser Subject = "user" // the user, as the first identity of the policy's client that is not an address; the address in lines without one
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

var errAddress = errors.New("the client's address is not readable")

// people finds whom a line is of, as package identity does, and keeps what it found.
type people struct {
	whom      whom
	identity  *identity.Reader
	overrides *policy.Lookup
	shards    int
	seed      maphash.Seed
	known     map[source]person
	byName    map[string]*tracked
	all       []*tracked // in the order in which they came
}

// A person is who sent a line.
type person struct {
	*tracked
	allow, deny bool // by the policy's overrides of any of its identities
}

// userHeader carries the user of a line to package identity, which makes the same subject of it as of a request's.
const userHeader = "X-User"

// A source is what a line says of who it is.
type source struct{ addr, user string }

func newPeople(w whom, shards int) (*people, error) {
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
	return &people{
		whom: w, identity: reader, overrides: w.policy.Overrides.Lookup(), shards: shards,
		seed: maphash.MakeSeed(), known: map[source]person{}, byName: map[string]*tracked{},
	}, nil
}

func (w *people) of(l *accesslog.Line) (person, error) {
	s := source{addr: l.Addr}
	if w.whom.user != "" {
		s.user = l.User
	}
	if who, ok := w.known[s]; ok {
		return who, nil
	}
	r := &http.Request{RemoteAddr: s.addr}
	if s.user != "" {
		r.Header = http.Header{userHeader: {s.user}}
	}
	found, err := w.identity.Read(r, nil)
	if err != nil {
		return person{}, err
	}
	name, user := "", false
	if w.whom.user != "" {
		name = found.Subject(w.whom.user)
		user = name != ""
	}
	if !user {
		name = found.Subject(w.whom.address)
	}
	if name == "" {
		return person{}, errAddress
	}
	t := w.byName[name]
	if t == nil {
		t = w.named(name, user)
	}
	who := person{tracked: t}
	for _, one := range found.Subjects {
		o := w.overrides.Of(one)
		who.allow, who.deny = who.allow || o.Allow, who.deny || o.Deny
	}
	w.known[source{strings.Clone(s.addr), strings.Clone(s.user)}] = who
	return who, nil
}

func (w *people) named(name string, user bool) *tracked {
	t := &tracked{
		name: name, user: user, factor: w.overrides.Of(name).Multiply, shard: int(maphash.String(w.seed, name) % uint64(w.shards)),
	}
	w.byName[name] = t
	w.all = append(w.all, t)
	return t
}
