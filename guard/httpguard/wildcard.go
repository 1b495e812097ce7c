package httpguard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// wildcard returns a function that reads path wildcards of the endpoint's pattern, decoded. It returns nil if no identity needs one.
func (r *routes) wildcard(req *http.Request, e *policy.Endpoint) func(string) string {
	if !r.wildcards {
		return nil
	}
	return func(name string) string {
		if r.mux == nil {
			return ""
		}
		_, pattern := r.mux.Handler(req)
		if r.patterns[pattern] != e {
			return req.PathValue(name) // of the router before the guard
		}
		return segment(pattern, req.URL.EscapedPath(), name)
	}
}

// segment returns the part of a path that a wildcard of the pattern matches.
func segment(pattern, path, name string) string {
	_, _, pattern = parts(pattern)
	for {
		var one, value string
		var more, left bool
		one, pattern, more = strings.Cut(strings.TrimPrefix(pattern, "/"), "/")
		rest := strings.TrimPrefix(path, "/")
		value, path, left = strings.Cut(rest, "/")
		switch one {
		case "{" + name + "}":
			return decoded(value)
		case "{" + name + "...}":
			return decoded(rest)
		}
		if !more || !left {
			return ""
		}
	}
}

func decoded(text string) string {
	if d, err := url.PathUnescape(text); err == nil {
		return d
	}
	return text
}
