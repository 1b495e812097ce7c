package httpguard

import (
	"path"
	"slices"
	"strings"
)

// A router behind the guard, or its middleware, may read a path as it stands or decoded, clean it or take empty segments and dots for
// values, and strip the last slash. readings returns the escaped paths that stand for each of these, so that a ServeMux, which
// cleans and decodes by segment, finds what any of them would. Most paths have one.
func readings(escaped, decoded string) []string {
	if plainPath(escaped) && escaped == decoded {
		return []string{escaped}
	}
	var all []string
	add := func(p string) {
		if !slices.Contains(all, p) {
			all = append(all, p)
		}
	}
	both := []string{escaped, escape(decoded)}
	for _, p := range both {
		add(cleaned(p))
	}
	for _, p := range both {
		add(strings.TrimRight(cleaned(p), "/"))
		add(literal(p))
		add(strings.TrimRight(literal(p), "/"))
	}
	return slices.DeleteFunc(all, func(p string) bool { return p == "" })
}

// plainPath reports whether every router reads a path alike, as far as it is not escaped.
func plainPath(p string) bool {
	if p == "" || p[0] != '/' || len(p) > 1 && p[len(p)-1] == '/' {
		return p == "/"
	}
	for i := range len(p) - 1 {
		if p[i] == '/' && (p[i+1] == '/' || p[i+1] == '.') {
			return false
		}
	}
	return true
}

// cleaned is a path without empty segments and dots, with its last slash.
func cleaned(p string) string {
	c := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && c != "/" {
		c += "/"
	}
	return c
}

// aSegment stands for a segment that a ServeMux would remove, or take for the end of the path: only a wildcard takes it.
const aSegment = "%00"

// literal is a path whose empty segments and dots are values.
func literal(p string) string {
	segments := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i, s := range segments {
		if s == "." || s == ".." || s == "" && i < len(segments)-1 || strings.EqualFold(s, "%2f") {
			segments[i] = aSegment
		}
	}
	return "/" + strings.Join(segments, "/")
}

// escape writes a decoded path so that it is decoded to itself.
func escape(decoded string) string {
	return strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(decoded)
}
