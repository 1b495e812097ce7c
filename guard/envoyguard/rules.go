package envoyguard

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	commonv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// rules are the descriptors of one policy.
type rules struct {
	policy *policy.Policy
	reader *identity.Reader
	// byShape are the descriptors of a domain by their keys, in the order of their priority.
	byShape map[string][]*rule
}

// A rule is a descriptor of the policy.
type rule struct {
	*policy.Descriptor
	index int // in the policy
	at    *guard.Endpoint
}

// Close ends the refreshes of keys. Requests in progress keep reading.
func (r *rules) Close() error { return r.reader.Close() }

func compile(p *policy.Policy, endpoints []*guard.Endpoint, o *Options) (*rules, error) {
	reader, err := p.Reader(o.Code, o.Identity)
	if err != nil {
		return nil, err
	}
	r := &rules{policy: p, reader: reader, byShape: map[string][]*rule{}}
	byName := map[string]*guard.Endpoint{}
	for _, e := range endpoints {
		byName[e.Name] = e
	}
	for i := range p.Descriptors {
		d := &rule{&p.Descriptors[i], i, byName[p.Descriptors[i].Endpoint]}
		var shape strings.Builder
		shape.WriteString(d.Domain)
		for _, e := range d.Entries {
			shape.WriteByte(0)
			shape.WriteString(e.Key)
		}
		key := shape.String()
		same := r.byShape[key]
		at := len(same)
		for at > 0 && moreExact(d, same[at-1]) {
			at--
		}
		r.byShape[key] = slices.Insert(same, at, d)
	}
	return r, nil
}

// moreExact reports whether a has a value in the first entry in which only one of both has one.
func moreExact(a, b *rule) bool {
	for i := range a.Entries {
		if exact := a.Entries[i].Value != ""; exact != (b.Entries[i].Value != "") {
			return exact
		}
	}
	return false
}

// match returns the rule for a descriptor, or nil.
func (r *rules) match(domain string, d *commonv3.RateLimitDescriptor) *rule {
	var room [128]byte
	key := append(room[:0], domain...)
	for _, e := range d.GetEntries() {
		key = append(append(key, 0), e.GetKey()...)
	}
rules:
	for _, rule := range r.byShape[string(key)] {
		if len(rule.Entries) != len(d.GetEntries()) {
			return nil // a key with a NUL
		}
		for i, e := range rule.Entries {
			if e.Value != "" && e.Value != d.Entries[i].GetValue() {
				continue rules
			}
		}
		return rule
	}
	return nil
}

// A claim collects the identities that the descriptors of a request give.
type claim struct {
	names      []string // identities that must be found
	hasAddress bool
	address    string
	header     http.Header
}

// add adds the identities of a descriptor. It returns an error if the descriptors contradict each other.
func (c *claim) add(p *policy.Policy, rule *rule, d *commonv3.RateLimitDescriptor) error {
	for i, e := range rule.Entries {
		if e.Identity == "" {
			continue
		}
		value := d.Entries[i].GetValue()
		before, given := c.address, c.hasAddress
		if p.OfAddress(e.Identity) {
			c.address, c.hasAddress = value, true
		} else {
			if c.header == nil {
				c.header = http.Header{}
			}
			name := p.Identities[e.Identity].Header
			before, given = c.header.Get(name), c.header.Values(name) != nil
			c.header.Set(name, value)
		}
		if given && before != value {
			return fmt.Errorf("identity %s has two values", e.Identity)
		}
		c.names = append(c.names, e.Identity)
	}
	return nil
}

// read returns the subjects of the identities, verified and normalized like those of HTTP requests.
func (c *claim) read(reader *identity.Reader) (subjects []string, err error) {
	if len(c.names) == 0 {
		return nil, nil
	}
	found, err := reader.Read(&http.Request{RemoteAddr: c.address, Header: c.header}, nil)
	if err != nil {
		return nil, err
	}
	for _, name := range c.names {
		subject := found.Subject(name)
		if subject == "" {
			return nil, fmt.Errorf("identity %s has no valid value", name)
		}
		if !slices.Contains(subjects, subject) {
			subjects = append(subjects, subject)
		}
	}
	return subjects, nil
}
