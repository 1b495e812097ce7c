package policy

// checkIdempotency finds an ID that comes from nowhere, and a fingerprint that would be a free pass: without the challenge that it holds, and
// that one request consumes, whoever has it could repeat it.
func (p *Policy) checkIdempotency(at string, e *Endpoint, found *problems) {
	i := e.Idempotency
	switch {
	case i == nil:
	case i.Header == "" && !i.Fingerprint:
		found.add(at+".header", "is required, or fingerprint: true")
	case i.Header != "" && i.Fingerprint:
		found.add(at+".header", "must not be with fingerprint: true: an ID comes from one place")
	case i.Fingerprint && (e.Challenge == nil || !e.Challenge.Required):
		found.add(at+".fingerprint", "is for an endpoint with challenge: {required: true}")
	case i.Fingerprint && !p.provedFingerprint():
		found.add(at+".fingerprint", "needs an identity with a fingerprint that is verified")
	}
}

func (p *Policy) provedFingerprint() bool {
	for _, id := range p.Identities {
		if id.Fingerprint != "" && id.Verify != nil {
			return true
		}
	}
	return false
}
