package identity

import (
	"cmp"
	"crypto/sha256"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strings"
	"sync"
)

// ErrNone means that a request lacks the identity of a Func.
var ErrNone = errors.New("the request has no identity")

// ErrAmbiguous means that services may read different values of one identity in a request: two values without proof, two that both verify, or one
// that is spelled in an unusual way, such as a cookie behind white space. Respond with 400.
var ErrAmbiguous = errors.New("the request is ambiguous")

// Errors of Forwarded.
var (
	ErrUntrusted = errors.New("the peer is not a trusted proxy")
	ErrNoClient  = errors.New("the request has no forwarded header")
)

// Found holds the identities of a request. All texts are printable and bounded, see Value.
type Found struct {
	// Subjects are the identities of the request, in the order of their names: ip=203.0.113.7, user=42. A subject has at most
	// 289 bytes.
	Subjects []string
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
			return Found{Address: p.found.Address}, fmt.Errorf("identity %s: %w", r.sources[i].name, err)
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
		if s := &r.sources[i]; s.address && found.Address.IsValid() {
			found.Subjects = append(found.Subjects, string(appendAddress([]byte(s.prefix), found.Address, s.Bits(found.Address))))
		}
	}
	return found
}

// Forwarded returns nil if a trusted proxy forwards the request for a client. Otherwise it returns ErrUntrusted, or ErrNoClient for a
// trusted proxy that adds no forwarded header.
func (r *Reader) Forwarded(req *http.Request) error {
	if !r.trusts(peer(req)) {
		return ErrUntrusted
	}
	if len(req.Header[r.header]) == 0 {
		return ErrNoClient
	}
	return nil
}

// A reading is the state of one Read. Subjects share one buffer, so that they take one allocation.
type reading struct {
	*Reader
	request *http.Request
	path    func(string) string
	found   Found
	text    []byte // subjects, joined
	ends    [maxIdentities]int
	n       int       // number of subjects
	tokens  []verdict // by verification; nil before the first one
}

var readings = sync.Pool{New: func() any { return new(reading) }}

// A verdict is the outcome of one verification.
type verdict struct {
	done  bool
	texts []string // claims; nil without a valid token
	err   error
}

func (p *reading) read(s *source) error {
	switch {
	case s.address:
		if addr := p.found.Address; addr.IsValid() {
			p.text = appendAddress(append(p.text, s.prefix...), addr, s.Bits(addr))
			p.end()
		}
	case s.Path != "":
		if p.path != nil {
			p.add(s, p.path(s.Path))
		}
	case s.JWT != nil:
		texts, err := p.claims(s.verification)
		if err != nil {
			return err
		}
		if texts != nil {
			p.add(s, texts[s.claim])
		}
	case s.Certificate != "":
		p.add(s, certificate(p.request.TLS, s.Certificate))
	case s.read != nil:
		value, err := s.read(p.request)
		if err != nil && !errors.Is(err, ErrNone) {
			return err
		}
		if err == nil {
			p.add(s, value)
		}
	default:
		return p.readValues(s)
	}
	return nil
}

// readValues reads a header, cookie, query parameter or fingerprint.
func (p *reading) readValues(s *source) error {
	var given values
	switch {
	case s.Header != "":
		given.header(p.request, s.Header)
	case s.Cookie != "":
		given.cookie(p.request, s.Cookie)
	case s.Query != "":
		given.query(p.request, s.Query)
	default:
		given.header(p.request, s.Fingerprint)
	}
	switch {
	case given.ambiguous != "":
		return fmt.Errorf("%w: %s", ErrAmbiguous, given.ambiguous)
	case s.verify != nil:
		return p.verify(s, given.all[:given.n])
	}
	claimed := ""
	for i, value := range given.all[:given.n] {
		if s.Fingerprint != "" {
			value = stableHash(value)
		}
		switch value = s.Fold.fold(value); {
		case i == 0:
			claimed = value
		case value != claimed:
			return fmt.Errorf("%w: two different values", ErrAmbiguous)
		}
	}
	p.add(s, claimed)
	return nil
}

// verify adds the one value that verifies.
func (p *reading) verify(s *source, given []string) error {
	verified := false
	for _, value := range given {
		subject, err := s.verify.Verify(p.request.Context(), value)
		switch {
		case err != nil || subject == "":
			continue
		case verified:
			return fmt.Errorf("%w: two different values verify", ErrAmbiguous)
		}
		verified = true
		p.add(s, subject)
		if challenge, _, ok := splitFingerprint(value); ok && s.Fingerprint != "" {
			p.found.Challenge, p.found.Receipt = shorten(challenge, maxChallenge), shorten(value, maxReceipt)
		}
	}
	return nil
}

// claims returns the texts of the claims in the request's valid token, or nil without one.
func (p *reading) claims(i int) ([]string, error) {
	if p.tokens == nil {
		p.tokens = make([]verdict, len(p.verifications))
	}
	found := &p.tokens[i]
	if found.done {
		return found.texts, found.err
	}
	found.done = true
	v := &p.verifications[i]
	var given values
	v.tokens(&given, p.request)
	if given.ambiguous != "" {
		found.err = fmt.Errorf("%w: %s", ErrAmbiguous, given.ambiguous)
		return nil, found.err
	}
	for _, token := range given.all[:given.n] {
		texts, ok := v.verify(token, p.now())
		if !ok {
			continue
		}
		if found.texts != nil {
			found.texts, found.err = nil, fmt.Errorf("%w: two different tokens are valid", ErrAmbiguous)
			break
		}
		found.texts = texts
	}
	return found.texts, found.err
}

// add adds the subject of an identity, unless the value is empty.
func (p *reading) add(s *source, value string) {
	if value != "" {
		p.text = appendValue(append(p.text, s.prefix...), s.Fold.fold(value))
		p.end()
	}
}

func (p *reading) end() {
	p.ends[p.n] = len(p.text)
	p.n++
}

func (p *reading) finish() Found {
	if p.n == 0 {
		return p.found
	}
	text, start := string(p.text), 0
	p.found.Subjects = make([]string, p.n)
	for i, end := range p.ends[:p.n] {
		p.found.Subjects[i] = text[start:end]
		start = end
	}
	return p.found
}

// A CertificatePart is a part of a client certificate.
type CertificatePart string

// The parts of a client certificate. If it has several DNS names or URIs, the first is the subject.
const (
	CertificateSHA256     CertificatePart = "sha256"      // SHA-256 of the certificate, 64 hexadecimal digits
	CertificateCommonName CertificatePart = "common_name" // common name of the certificate's subject
	CertificateDNS        CertificatePart = "dns"         // DNS names, in lower case and without a final dot
	CertificateURI        CertificatePart = "uri"         // URIs, such as SPIFFE IDs
)

// certificate returns a part of the client certificate, or "" if the server did not verify it.
func certificate(state *tls.ConnectionState, part CertificatePart) string {
	if state == nil || len(state.VerifiedChains) == 0 || len(state.VerifiedChains[0]) == 0 {
		return ""
	}
	leaf := state.VerifiedChains[0][0]
	switch part {
	case CertificateSHA256:
		sum := sha256.Sum256(leaf.Raw)
		return hex.EncodeToString(sum[:])
	case CertificateCommonName:
		return leaf.Subject.CommonName
	case CertificateURI:
		if len(leaf.URIs) > 0 {
			return leaf.URIs[0].String()
		}
		return ""
	}
	return strings.ToLower(strings.TrimSuffix(cmp.Or(leaf.DNSNames...), "."))
}

// splitFingerprint returns the parts of fp:<challenge>:<stable hash>. It reports false unless both are set and have no colon.
func splitFingerprint(value string) (challenge, stable string, ok bool) {
	rest, ok := strings.CutPrefix(value, "fp:")
	if !ok {
		return "", "", false
	}
	challenge, stable, _ = strings.Cut(rest, ":")
	return challenge, stable, challenge != "" && stable != "" && !strings.Contains(stable, ":")
}

// stableHash returns the stable hash of a fingerprint. It returns a value of another form as a whole, such as an IPv6 address,
// which has colons, too.
func stableHash(value string) string {
	if _, stable, ok := splitFingerprint(value); ok {
		return stable
	}
	return value
}
