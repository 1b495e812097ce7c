package grpcguard

import (
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/web"
)

// Headers is a revision of the RateLimit fields, an IETF draft: Draft11, Draft06 or NoHeaders.
type Headers = web.Headers

// The revisions.
const (
	// Draft11 is draft-ietf-httpapi-ratelimit-headers-11. It lists each limit: ratelimit-policy: "minute";q=10;w=60 and ratelimit:
	// "minute";r=7;t=53.
	Draft11 = web.Draft11
	// Draft06 is draft-ietf-httpapi-ratelimit-headers-06: ratelimit-limit, ratelimit-remaining and ratelimit-reset of the tightest limit.
	Draft06 = web.Draft06
	// NoHeaders sends no fields.
	NoHeaders = web.NoHeaders
)

// fields returns the RateLimit fields of a decision.
func (i *Interceptor) fields(d *guard.Decision) metadata.MD {
	md := metadata.MD{}
	switch i.options.Headers {
	case Draft11:
		if limits, policies := web.RateLimit(d); limits != "" {
			md["ratelimit-policy"], md["ratelimit"] = []string{policies}, []string{limits}
		}
	case Draft06:
		setTightest(md, d, "ratelimit-")
	}
	if i.options.XHeaders {
		setTightest(md, d, "x-ratelimit-")
	}
	return md
}

func setTightest(md metadata.MD, d *guard.Decision, prefix string) {
	if limit, remaining, reset, ok := web.Tightest(d); ok {
		md[prefix+"limit"], md[prefix+"remaining"], md[prefix+"reset"] = []string{limit}, []string{remaining}, []string{reset}
	}
}

// retryAfter adds retry-after in whole seconds, rounded up, if waiting helps.
func retryAfter(md metadata.MD, wait time.Duration) {
	if wait > 0 {
		md["retry-after"] = []string{strconv.FormatInt(web.Seconds(wait), 10)}
	}
}
