package identity

import (
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
)

// ErrNone means that a request lacks the identity of a Func.
var ErrNone = errors.New("the request has no identity")

// ErrAmbiguous means that a request gives one identity in several ways: two values that both verify, or more than 8
// different values. Respond with 400.
var ErrAmbiguous = errors.New("the request is ambiguous")

// Errors of Forwarded.
var (
	ErrUntrusted = errors.New("the peer is not a trusted proxy")
	ErrNoClient  = errors.New("the request has no forwarded header")
)

// Found holds the identities of a request. All texts are printable and bounded, see Value.
type Found struct {
	// Subjects are the identities of the request, in the order of the configs: user=42, ip=203.0.113.7. A subject has at most
	// 289 bytes.
	Subjects []string
	// Also are other subjects that the request claims, such as the second value of a header or an unknown key. They prove
	// nothing: use them for deny rules only. Empty in most requests.
	Also []string
	// Address is the client's address, even without an identity for it. IPv4 in IPv6 is IPv4. The zero Addr means that the
	// peer has no address, such as on a Unix socket.
	Address netip.Addr
	// Challenge is the challenge of a verified fingerprint, at most 128 bytes; "" without one.
	Challenge string
	// Receipt is the whole verified fingerprint, at most 224 bytes; "" without one.
	Receipt string
}

// Subject returns the subject of an identity, or "" if the request lacks it.
func (f *Found) Subject(name string) string {
	for _, subject := range f.Subjects {
		if rest, ok := strings.CutPrefix(subject, name); ok && rest[0] == '=' {
			return subject
		}
	}
	return ""
}

// Read reads the identities of a request. path returns the value of a wildcard in the matched pattern, such as
// http.Request.PathValue; it may be nil. The error wraps ErrAmbiguous or the error of a Func.
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
	readings.Put(p)
	return found, nil
}

// ReadAddress reads the identities of the client's address alone, which need no proof.
func (r *Reader) ReadAddress(req *http.Request) Found {
	found := Found{Address: r.client(req)}
	for i := range r.sources {
		if s := &r.sources[i]; s.Address && found.Address.IsValid() {
			found.Subjects = append(found.Subjects, string(appendAddress([]byte(s.prefix), found.Address, s.IPv4Prefix, s.IPv6Prefix)))
		}
	}
	return found
}

// Forwarded returns nil if a trusted proxy forwards the request for a client. Otherwise it returns ErrUntrusted, or ErrNoClient for a
// trusted proxy that adds no forwarded header.
func (r *Reader) Forwarded(req *http.Request) error {
	if peer, ok := parseHop(req.RemoteAddr); !ok || !r.trusts(peer) {
		return ErrUntrusted
	}
	if len(req.Header[r.header]) == 0 {
		return ErrNoClient
	}
	return nil
}
