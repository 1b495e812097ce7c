package identity

import (
	"errors"
	"net/http"
)

// ErrNone says that a source, or every one of them, has nothing to say about a request.
var ErrNone = errors.New("the request has no identity")

// A Source is where an identity comes from.
type Source string

// Where an identity comes from.
const (
	Fingerprint Source = "fingerprint"
	APIKey      Source = "api_key"
	IP          Source = "ip"
	Custom      Source = "custom" // Config.Func
)

// An Identity is who a request is.
type Identity struct {
	Subject   string // fp=ab12, key=5e88..., ip=203.0.113.7, ip=2001:db8::/64; at most 260 bytes, but of a Config.Func
	Receipt   string // the request's own ID, at most 224 bytes: a fingerprint as a whole; "" when it has none
	Challenge string // the one that a fingerprint brings, at most 128 bytes; "" when there is none
	Source    Source
}

// Identify tells who a request is. It returns [ErrNone] when no source knows, which can not happen where the address is
// asked and the server listens on a network; another error is Config.Func's.
func (id *Identifier) Identify(r *http.Request) (Identity, error) {
	for _, source := range id.config.From {
		found, err := id.ask(source, r)
		if err == nil {
			found.Source = source
			return found, nil
		}
		if !errors.Is(err, ErrNone) {
			return Identity{}, err
		}
	}
	return Identity{}, ErrNone
}

func (id *Identifier) ask(source Source, r *http.Request) (Identity, error) {
	switch source {
	case Fingerprint:
		return id.fingerprint(r)
	case APIKey:
		return id.apiKey(r)
	case IP:
		return id.client(r)
	}
	found, err := id.config.Func(r)
	if err != nil {
		return Identity{}, err
	}
	if found.Subject == "" {
		return Identity{}, ErrNone
	}
	found.Receipt, found.Challenge = fold(found.Receipt, maxReceipt), fold(found.Challenge, maxChallenge)
	return found, nil
}

// only returns a header's value; "" when there is none, and when there are several: which one counts is anybody's guess.
func only(r *http.Request, header string) string {
	if values := r.Header[header]; len(values) == 1 {
		return values[0]
	}
	return ""
}
