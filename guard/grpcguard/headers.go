package grpcguard

import (
	"strconv"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/internal/fields"
)

// Headers is a revision of the rate limit fields, which are a draft still: Draft11, Draft06 or NoHeaders.
type Headers = fields.Revision

// The revisions.
const (
	// Draft11 is draft-ietf-httpapi-ratelimit-headers-11: ratelimit-policy: "minute";q=10;w=60 and ratelimit: "minute";r=7;t=53, an
	// item for each limit.
	Draft11 = fields.Draft11
	// Draft06 is draft-ietf-httpapi-ratelimit-headers-06: ratelimit-limit, ratelimit-remaining and ratelimit-reset, of the limit that
	// has least left.
	Draft06 = fields.Draft06
	// NoHeaders sends none.
	NoHeaders = fields.None
)

// fields returns a decision's rate limit fields.
func (i *Interceptor) fields(d *guard.Decision) metadata.MD {
	md := metadata.MD{}
	switch i.options.Headers {
	case Draft11:
		if limits, policies := fields.Lists(d); limits != "" {
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
	if limit, remaining, reset, ok := fields.Tightest(d); ok {
		md[prefix+"limit"], md[prefix+"remaining"], md[prefix+"reset"] = []string{limit}, []string{remaining}, []string{reset}
	}
}

// retryAfter adds whole seconds, rounded up; nothing if waiting does not help.
func retryAfter(md metadata.MD, wait time.Duration) {
	if wait > 0 {
		md["retry-after"] = []string{strconv.FormatInt(fields.Seconds(wait), 10)}
	}
}
