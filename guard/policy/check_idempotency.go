package policy

// checkIdempotency finds an ID without a source, and a fingerprint that a client could repeat for free. Only a required
// challenge prevents that, because one request consumes it.
func (p *Policy) checkIdempotency(at string, e *Endpoint, found *problems) {
	i := e.Idempotency
	switch {
	case i == nil:
	case i.Header == "" && !i.Fingerprint && len(e.Match) > 0:
		found.add(at+".header", "is required of an endpoint with match, unless fingerprint is true")
	case i.Header != "" && i.Fingerprint:
		found.add(at+".header", "cannot be combined with fingerprint: true: an ID has one source")
	case i.Fingerprint && (e.Challenge == nil || !e.Challenge.Required):
		found.add(at+".fingerprint", "requires challenge: {required: true} on the endpoint")
	case i.Fingerprint && !p.hasVerifiedFingerprint():
		found.add(at+".fingerprint", "requires an identity with a verified fingerprint")
	}
}

func (p *Policy) hasVerifiedFingerprint() bool {
	for _, id := range p.Identities {
		if id.Fingerprint != "" && id.Verify != nil {
			return true
		}
	}
	return false
}
