package httpguard

import (
	"net/http"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/web"
)

// Headers is a revision of the RateLimit header fields, an IETF draft: Draft11, Draft06 or NoHeaders.
type Headers = web.Headers

// The revisions.
const (
	// Draft11 is draft-ietf-httpapi-ratelimit-headers-11. It lists each limit: RateLimit-Policy: "minute";q=10;w=60 and RateLimit:
	// "minute";r=7;t=53.
	Draft11 = web.Draft11
	// Draft06 is draft-ietf-httpapi-ratelimit-headers-06: RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset of the tightest limit.
	Draft06 = web.Draft06
	// NoHeaders writes no fields.
	NoHeaders = web.NoHeaders
)

// writeHeaders writes the RateLimit fields. It uses canonical names, so that net/http need not convert them.
func (m *Middleware) writeHeaders(header http.Header, d *guard.Decision) {
	switch m.options.Headers {
	case Draft11:
		if limits, policies := web.RateLimit(d); limits != "" {
			both := [2]string{limits, policies} // one allocation; each has its own capacity
			header["Ratelimit"], header["Ratelimit-Policy"] = both[0:1:1], both[1:2:2]
		}
	case Draft06:
		writeTightest(header, d, "Ratelimit-")
	}
	if m.options.XHeaders {
		writeTightest(header, d, "X-Ratelimit-")
	}
}

func writeTightest(header http.Header, d *guard.Decision, prefix string) {
	if limit, remaining, reset, ok := web.Tightest(d); ok {
		header.Set(prefix+"Limit", limit)
		header.Set(prefix+"Remaining", remaining)
		header.Set(prefix+"Reset", reset)
	}
}
