package httpguard

import (
	"net/http"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/fields"
)

// Headers is a revision of the rate limit header fields, which are a draft still: Draft11, Draft06 or NoHeaders.
type Headers = fields.Revision

// The revisions.
const (
	// Draft11 is draft-ietf-httpapi-ratelimit-headers-11: RateLimit-Policy: "minute";q=10;w=60 and RateLimit: "minute";r=7;t=53, an
	// item for each limit.
	Draft11 = fields.Draft11
	// Draft06 is draft-ietf-httpapi-ratelimit-headers-06: RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, of the limit that
	// has least left.
	Draft06 = fields.Draft06
	// NoHeaders writes none.
	NoHeaders = fields.None
)

// writeHeaders writes the fields, spelled as net/http would: it brings another spelling to this one each time.
func (m *Middleware) writeHeaders(header http.Header, d *guard.Decision) {
	switch m.options.Headers {
	case Draft11:
		if limits, policies := fields.Lists(d); limits != "" {
			both := [2]string{limits, policies} // one allocation, and each its own
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
	if limit, remaining, reset, ok := fields.Tightest(d); ok {
		header.Set(prefix+"Limit", limit)
		header.Set(prefix+"Remaining", remaining)
		header.Set(prefix+"Reset", reset)
	}
}
