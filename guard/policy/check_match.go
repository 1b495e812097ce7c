package policy

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/rlfunc/rlfunc/internal/spelling"
)

// maxPatterns limits the patterns of all endpoints together: net/http compares those with wildcards one by one.
const maxPatterns = 2000

// checkMatch registers all patterns in ServeMuxes, those of upstreams apart, and reports those that net/http rejects.
func (p *Policy) checkMatch(found *problems) {
	checkPatterns("upstreams", len(p.Upstreams), false, func(i int) []string { return p.Upstreams[i].Match }, found)
	limited := checkPatterns("endpoints", len(p.Endpoints), true, func(i int) []string { return p.Endpoints[i].Match }, found)
	exempt := patterns{http.NewServeMux(), map[string]registered{}, false}
	for i, pattern := range p.Exempt {
		if at := fmt.Sprintf("exempt[%d]", i); exempt.add(at, pattern, found) {
			p.checkExempt(at, pattern, limited, found)
		}
	}
}

func checkPatterns(list string, n int, fold bool, match func(i int) []string, found *problems) patterns {
	all := patterns{http.NewServeMux(), map[string]registered{}, fold}
	count := 0
	for i := range n {
		for j, pattern := range match(i) {
			at := fmt.Sprintf("%s[%d].match[%d]", list, i, j)
			if count++; count > maxPatterns {
				found.add(at, "exceeds the %d patterns of a policy: match several paths with a wildcard or a prefix", maxPatterns)
				return all
			}
			all.add(at, pattern, found)
		}
	}
	return all
}

// registered is a pattern as the policy has it, and its policy path.
type registered struct{ pattern, at string }

// patterns are registered patterns.
type patterns struct {
	mux   *http.ServeMux
	given map[string]registered // by the pattern as it is compared
	fold  bool
}

// add registers a pattern, or reports why net/http rejects it.
func (p patterns) add(at, pattern string, found *problems) bool {
	if checkTarget(pattern) != "" {
		return false // reported by bounds
	}
	given := pattern
	if pattern = HTTPPattern(given); p.fold {
		pattern = Pattern(pattern, true)
	}
	switch rejected, other := register(p.mux, pattern); {
	case other != "":
		found.add(at, "%s conflicts with %s of %s: %s", quote(given), quote(p.given[other].pattern), p.given[other].at, rejected)
	case rejected != "":
		found.add(at, "%s", rejected)
	default:
		p.given[pattern] = registered{given, at}
		return true
	}
	return false
}

// methods are those of the IANA registry of HTTP methods, and PURGE. A word near to one is a misspelling; any other is a method of its own.
var methods = strings.Fields(`GET HEAD POST PUT PATCH DELETE CONNECT OPTIONS TRACE QUERY PURGE ACL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK
	MERGE MKACTIVITY MKCALENDAR MKCOL MKREDIRECTREF MKWORKSPACE MOVE ORDERPATCH PROPFIND PROPPATCH REBIND REPORT SEARCH UNBIND UNCHECKOUT
	UNLINK UNLOCK UPDATE UPDATEREDIRECTREF`)

// checkPattern rejects patterns that net/http accepts but no request matches, and says what was meant. checkMatch checks the rest.
func checkPattern(s string) string {
	method, rest := "", s
	if i := strings.IndexAny(s, " \t"); i >= 0 {
		method, rest = s[:i], strings.TrimLeft(s[i:], " \t")
	}
	if !strings.Contains(rest, "/") || strings.ContainsAny(rest, " \t") || strings.Trim(strings.ToUpper(method), "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != "" {
		return `must be a pattern such as "/v1/chat", "POST /v1/chat" or "GET example.com/v1/"`
	}
	if service, ok := strings.CutSuffix(rest, "/*"); ok && isService(service) {
		if method != "" {
			return fmt.Sprintf("must be %q: a gRPC pattern has no method", rest)
		}
		return ""
	}
	method, why := meantMethod(method)
	host, path, wrong := meantPath(rest)
	if why = cmp.Or(why, wrong); why == "" {
		return ""
	}
	return fmt.Sprintf("must be %q: %s", strings.TrimLeft(method+" "+host+path, " "), why)
}

// checkTarget checks a pattern of an upstream, whose host may be all names below another.
func checkTarget(s string) string {
	if before, after, ok := strings.Cut(s, "*."); ok && (before == "" || strings.HasSuffix(before, " ")) {
		s = before + after
	}
	return checkPattern(s)
}

// isService reports whether a path is that of a gRPC service. One without a package begins with a capital letter, which tells it from /v1.
func isService(path string) bool {
	name, ok := strings.CutPrefix(path, "/")
	return ok && name != "" && !strings.Contains(name, "/") && (strings.Contains(name, ".") || 'A' <= name[0] && name[0] <= 'Z')
}

// meantMethod returns the method that was meant, and what is wrong with the given one.
func meantMethod(method string) (meant, wrong string) {
	upper := strings.ToUpper(method)
	near := spelling.Nearest(upper, methods)
	switch {
	case upper == "ANY" || upper == "ALL":
		return "", "a pattern without a method matches all methods"
	case upper != method:
		return upper, "methods are in upper case"
	case near != "" && near != method && !slices.Contains(methods, method):
		return near, "no request has the method " + method
	}
	return method, ""
}

// meantPath returns the host and path that were meant, and what is wrong with the given ones.
func meantPath(text string) (host, path, wrong string) {
	if _, rest, ok := strings.Cut(text, "://"); ok {
		wrong, text = "a pattern has no scheme", rest
	}
	slash := max(strings.IndexByte(text, '/'), 0)
	host, path = text[:slash], text[slash:]
	if name, _, err := net.SplitHostPort(host); err == nil {
		host, wrong = name, cmp.Or(wrong, "a host without a port matches all ports")
	}
	if strings.Contains(host, "*") {
		host, wrong = "", cmp.Or(wrong, "a pattern without a host matches all hosts")
	}
	if host != "" && host != "localhost" && !strings.ContainsAny(host, ".:") {
		path, wrong = "/"+host+path, cmp.Or(wrong, fmt.Sprintf(`a path begins with a slash; for the host %s write "%[1]s.%s"`, host, path))
		host = ""
	}
	if end := strings.IndexAny(path, "?#"); end >= 0 {
		path, wrong = path[:end], cmp.Or(wrong, "a pattern has no query and no fragment")
	}
	segments := strings.Split(path, "/")
	for i, s := range segments {
		switch last := i == len(segments)-1; {
		case strings.HasPrefix(s, "{"):
		case last && strings.Trim(s, "*") == "" && s != "":
			segments[i], wrong = "", cmp.Or(wrong, "a path that ends with a slash matches all paths below, and * only itself")
		case strings.Contains(s, "*"):
			segments[i], wrong = "{name}", cmp.Or(wrong, "{name} matches any segment, and * only itself")
		case strings.HasPrefix(s, ":") || strings.HasPrefix(s, "<"):
			segments[i], wrong = "{"+strings.Trim(s, ":<>")+"}", cmp.Or(wrong, "wildcards are in braces")
		}
	}
	return host, strings.Join(segments, "/"), wrong
}

// SplitPattern splits a pattern of a checked policy into its method, its host in lower case without brackets and final dot, and its path.
func SplitPattern(pattern string) (method, host, path string) {
	rest := pattern
	if i := strings.LastIndexAny(pattern, " \t"); i >= 0 {
		method, rest = strings.TrimSpace(pattern[:i]), pattern[i+1:]
	}
	slash := strings.IndexByte(rest, '/')
	return method, strings.ToLower(strings.TrimSuffix(strings.Trim(rest[:slash], "[]"), ".")), rest[slash:]
}

// FoldPath returns an escaped path or that of a pattern in which letters that differ only in case are the same.
func FoldPath(escaped string) string {
	if !strings.ContainsFunc(escaped, func(r rune) bool { return 'A' <= r && r <= 'Z' || r == '%' || r >= utf8.RuneSelf }) {
		return escaped
	}
	segments := strings.Split(escaped, "/")
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil && !strings.HasPrefix(s, "{") { // the wildcard of a pattern
			segments[i] = url.PathEscape(strings.ToLower(strings.ToUpper(decoded))) // U+017F becomes s
		}
	}
	return strings.Join(segments, "/")
}

// Pattern returns a pattern with its host as SplitPattern returns it, and its path folded if fold is set.
func Pattern(pattern string, fold bool) string {
	method, host, path := SplitPattern(pattern)
	if fold {
		path = FoldPath(path)
	}
	return strings.TrimLeft(method+" "+host+path, " ")
}

// IsGRPC reports whether a pattern matches all methods of a gRPC service.
func IsGRPC(pattern string) bool {
	return strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/*")
}

// register returns why a mux rejects a pattern, in one line, and the pattern that it conflicts with; "" if it accepts it.
func register(mux *http.ServeMux, pattern string) (rejected, other string) {
	defer func() {
		if r := recover(); r != nil {
			text := fmt.Sprint(r)
			rejected, other = reason(text, pattern), conflicting(text)
		}
	}()
	mux.Handle(pattern, http.NotFoundHandler())
	return "", ""
}

// conflicting returns the second pattern in `pattern "/a" (registered at ...) conflicts with pattern "/b" (...`.
func conflicting(text string) string {
	_, rest, _ := strings.Cut(text, ") conflicts with pattern ")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return ""
	}
	other, _ := strconv.Unquote(quoted) // net/http quoted it
	return other
}

// reason returns the message of a net/http panic without the call sites.
func reason(text, pattern string) string {
	first, rest, more := strings.Cut(text, "\n")
	if more {
		first = strings.ReplaceAll(strings.TrimSuffix(rest, "."), "\n", " ")
	} else {
		first = strings.TrimPrefix(first, fmt.Sprintf("parsing %q: ", pattern))
	}
	return strings.TrimPrefix(strings.TrimSuffix(first, "."), "http: ")
}

// checkExempt finds patterns by which a client could choose to be exempt, and those that would free all requests of an endpoint's pattern.
func (p *Policy) checkExempt(at, pattern string, endpoints patterns, found *problems) {
	method, host, path := SplitPattern(pattern)
	switch {
	case method == http.MethodPost:
		found.add(at, "must not be for POST: services take another method from a header or a form of a POST; exempt all methods with %s", quote(host+path))
		return
	case strings.ContainsAny(path, "%;"):
		found.add(at, "must have no %% and no ;: no request with these is exempt, because services disagree about them")
		return
	case method == http.MethodOptions: // only preflights
		return
	}
	mux := http.NewServeMux()
	register(mux, strings.TrimLeft(method+" "+host+FoldPath(HTTPPattern(path)), " "))
	for _, limited := range slices.Sorted(maps.Keys(endpoints.given)) {
		if covers(mux, method, host, limited) {
			found.add(at, "%s would free %s of %s from its limits: exempt only paths that need none, such as /healthz",
				quote(pattern), quote(endpoints.given[limited].pattern), endpoints.given[limited].at)
			return
		}
	}
}

// covers reports whether a mux with an exempt pattern matches any request of another pattern that has the method and host of both.
func covers(mux *http.ServeMux, method, host, pattern string) bool {
	ofMethod, ofHost, path := SplitPattern(pattern)
	if ofMethod != "" && (ofMethod != http.MethodGet || method != http.MethodHead) { // GET matches HEAD, too
		method = ofMethod
	}
	for _, escaped := range samples(FoldPath(HTTPPattern(path))) {
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

// HTTPPattern returns a pattern as net/http writes it: that of a gRPC service ends with a wildcard. It matches requests of HTTP, too, so that
// a service that is called both ways is guarded in both.
func HTTPPattern(pattern string) string {
	if service, ok := strings.CutSuffix(pattern, "/*"); ok {
		return service + "/{method}"
	}
	return pattern
}
