package identity

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// ErrNone is what a Func returns for a request without the identity.
var ErrNone = errors.New("the request has no identity")

// ErrAmbiguous is the error of a request that gives one identity in several ways: two values that both verify, or more
// than 8 different values. Answer it with 400.
var ErrAmbiguous = errors.New("the request is ambiguous")

// Found is what a request says about its sender. A text in it is readable and bounded, see Value.
type Found struct {
	// Subjects are the identities that the request has, in the order of the configs: user=42, ip=203.0.113.7. A subject has
	// at most 289 bytes.
	Subjects []string
	// Also are further subjects that the request claims: the second value of a header, a key that is not known. They prove
	// nothing and may only be denied. Empty in most requests.
	Also []string
	// Address is the client's address, whether or not an identity has it; IPv4 that IPv6 carries is IPv4. The zero Addr means
	// that the peer has none, on a Unix socket.
	Address netip.Addr
	// Challenge is the challenge of a verified fingerprint, at most 128 bytes; "" without one.
	Challenge string
	// Receipt is a verified fingerprint as a whole, at most 224 bytes; "" without one.
	Receipt string
}

// Subject returns the subject of an identity; "" if the request does not have it.
func (f *Found) Subject(name string) string {
	for _, subject := range f.Subjects {
		if rest, ok := strings.CutPrefix(subject, name); ok && rest[0] == '=' {
			return subject
		}
	}
	return ""
}

// Read reads the identities of a request. path returns the value of a wildcard of the pattern that the request matched, as
// http.Request.PathValue does; nil if there is none. The error is ErrAmbiguous or that of a Func, after the identity's name.
func (r *Reader) Read(req *http.Request, path func(wildcard string) string) (Found, error) {
	p := readings.Get().(*reading)
	p.Reader, p.request, p.path, p.found.Address = r, req, path, r.client(req)
	for i := range r.sources {
		if err := p.read(&r.sources[i]); err != nil {
			return Found{Address: p.found.Address}, fmt.Errorf("identity %s: %w", r.sources[i].Name, err)
		}
	}
	found := p.finish()
	*p = reading{text: p.text[:0]}
	readings.Put(p) // not after an error or a panic, which are rare
	return found, nil
}
