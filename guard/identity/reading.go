package identity

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
)

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
	case s.Address:
		if addr := p.found.Address; addr.IsValid() {
			p.text = appendAddress(append(p.text, s.prefix...), addr, s.IPv4Prefix, s.IPv6Prefix)
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
		for i, value := range certificate(p.request.TLS, s.Certificate) {
			if i == 0 {
				p.add(s, value)
			} else {
				p.also(s, value)
			}
		}
	case s.Func != nil:
		value, err := s.Func(p.request)
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
	if given.over != "" {
		return fmt.Errorf("%w: %s", ErrAmbiguous, given.over)
	}
	if s.Verify != nil {
		return p.verify(s, given.all[:given.n])
	}
	first := true
	for _, value := range given.all[:given.n] {
		forms := s.forms(value)
		for _, form := range forms.all[:forms.n] {
			if first {
				p.add(s, s.claimed(form))
				first = false
			} else {
				p.also(s, s.claimed(form))
			}
		}
	}
	return nil
}

// verify adds the one value that verifies, and the others to Also.
func (p *reading) verify(s *source, given []string) error {
	verified := -1
	for i, value := range given {
		forms, known := s.forms(value), ""
		for _, form := range forms.all[:forms.n] {
			subject, err := s.Verify.Verify(p.request.Context(), form)
			if err != nil || subject == "" || subject == known {
				continue
			}
			if verified >= 0 {
				return fmt.Errorf("%w: two different values verify", ErrAmbiguous)
			}
			verified, known = i, subject
			p.add(s, subject)
			if challenge, _, ok := splitFingerprint(value); ok && s.Fingerprint != "" {
				p.found.Challenge, p.found.Receipt = shorten(challenge, maxChallenge), shorten(value, maxReceipt)
			}
		}
	}
	for i, value := range given {
		if i == verified {
			continue
		}
		forms := s.forms(value)
		for _, form := range forms.all[:forms.n] {
			p.also(s, s.claimed(form))
		}
	}
	return nil
}

// claimed returns the text that a value without proof has in a subject.
func (s *source) claimed(value string) string {
	if v, ok := s.Verify.(interface{ claimed(string) string }); ok {
		return v.claimed(value)
	}
	if s.Fingerprint != "" {
		return stableHash(value)
	}
	return value
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
	if given.over != "" {
		found.err = fmt.Errorf("%w: %s", ErrAmbiguous, given.over)
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
		p.text = appendValue(append(p.text, s.prefix...), value)
		p.end()
	}
}

func (p *reading) end() {
	p.ends[p.n] = len(p.text)
	p.n++
}

// also adds a subject to Also; finish drops those that are in Subjects, too.
func (p *reading) also(s *source, value string) {
	if value == "" {
		return
	}
	subject := s.prefix + Value(value)
	if !slices.Contains(p.found.Also, subject) {
		p.found.Also = append(p.found.Also, subject)
	}
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
	if len(p.found.Also) > 0 {
		p.found.Also = slices.DeleteFunc(p.found.Also, func(subject string) bool { return slices.Contains(p.found.Subjects, subject) })
	}
	return p.found
}
