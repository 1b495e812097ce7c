package policy

import (
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// checkExempt finds patterns by which a client could choose to be exempt, and those that would free all requests of an endpoint's pattern.
func (p *Policy) checkExempt(at, pattern string, endpoints patterns, found *problems) {
	method, host, path := SplitPattern(pattern)
	switch {
	case method == http.MethodPost:
		found.add(at, "must not be for POST: services take another method from a header or a form of a POST; exempt all methods with %s", quote(host+path))
		return
	case method == http.MethodOptions:
		found.add(at, "must not be for OPTIONS: a client chooses it; set cors to have guard answer preflights, or exempt all methods with %s", quote(host+path))
		return
	case strings.ContainsAny(path, "%;"):
		found.add(at, "must have no %% and no ;: no request with these is exempt, because services disagree about them")
		return
	}
	fold := func(s string) string { return s }
	if p.Paths.Case == CaseFold {
		fold = func(s string) string { return strings.ToLower(strings.ToUpper(s)) }
	}
	mux := http.NewServeMux()
	register(mux, strings.TrimLeft(method+" "+host+fold(grpcWildcard(path)), " "))
	for _, limited := range slices.Sorted(maps.Keys(endpoints.paths)) {
		if covers(mux, method, host, limited, fold) {
			found.add(at, "%s would free %s of %s from its limits: exempt only paths that need none, such as /healthz",
				quote(pattern), quote(limited), endpoints.paths[limited])
			return
		}
	}
}

// covers reports whether a mux with an exempt pattern matches any request of another pattern that has the method and host of both.
func covers(mux *http.ServeMux, method, host, pattern string, fold func(string) string) bool {
	ofMethod, ofHost, path := SplitPattern(pattern)
	if ofMethod != "" && (ofMethod != http.MethodGet || method != http.MethodHead) { // GET matches HEAD, too
		method = ofMethod
	}
	for _, escaped := range samples(fold(grpcWildcard(path))) {
		decoded, err := url.PathUnescape(escaped)
		handler, by := mux.Handler(&http.Request{Method: method, Host: cmp.Or(ofHost, host), URL: &url.URL{Path: decoded, RawPath: escaped}})
		if _, registered := handler.(http.HandlerFunc); err != nil || by == "" || !registered { // not even if it is a redirect
			return false
		}
	}
	return true
}

// samples returns the shortest path that a pattern matches, and a long one. Their wildcards have values that no pattern names.
func samples(path string) [2]string {
	const value = "%00"
	segments := strings.Split(path, "/")
	last := len(segments) - 1
	for i, s := range segments {
		if strings.HasPrefix(s, "{") && i < last {
			segments[i] = value
		}
	}
	end := segments[last]
	begin := strings.Join(segments[:last], "/") + "/"
	switch {
	case end == "" || strings.HasSuffix(end, "...}"):
		return [2]string{begin, begin + strings.Repeat(value+"/", 16)}
	case end == "{$}":
		end = ""
	case strings.HasPrefix(end, "{"):
		end = value
	}
	return [2]string{begin + end, begin + end}
}

// grpcWildcard returns a path as net/http writes it: that of a gRPC service ends with a wildcard.
func grpcWildcard(path string) string {
	if service, ok := strings.CutSuffix(path, "/*"); ok {
		return service + "/{method}"
	}
	return path
}
