// Package readings lists how routers may read one path.
package readings

import (
	"path"
	"slices"
	"strconv"
	"strings"
)

// A router behind the guard, or its middleware, may read a path as it stands, with its letters decoded or all of it, clean it or take empty
// segments and dots for values, and strip the last slash. Of returns the escaped paths that stand for each of these, so that a
// ServeMux, which cleans and decodes by segment, finds what any of them would. Most paths have one.
func Of(escaped, decoded string) []string {
	if Plain(escaped) && escaped == decoded {
		return []string{escaped}
	}
	var all []string
	add := func(p string) {
		for _, p := range []string{p, strings.TrimRight(p, "/")} {
			if p != "" && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	bases := []string{escaped, letters(escaped), escape(decoded)}
	for _, p := range bases {
		add(cleaned(p))
	}
	for _, p := range bases {
		add(literal(p))
		add(literal(merged(p)))
		add(literal(undotted(p)))
	}
	return all
}

// Plain reports whether every router reads a path alike, as far as it is not escaped.
func Plain(p string) bool {
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

// merged is a path without empty segments.
func merged(p string) string {
	for strings.Contains(p, "//") {
		p = strings.ReplaceAll(p, "//", "/")
	}
	return p
}

// undotted is a path without dots, which have taken the segment before them, empty or not (RFC 3986, 5.2.4).
func undotted(p string) string {
	var kept []string
	segments := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i, s := range segments {
		last := i == len(segments)-1
		switch s {
		case ".":
		case "..":
			kept = kept[:max(len(kept)-1, 0)]
		default:
			kept = append(kept, s)
			continue
		}
		if last {
			kept = append(kept, "")
		}
	}
	return "/" + strings.Join(kept, "/")
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

// letters decodes what needs no escape (RFC 3986, 6.2.2.2), and leaves %2F as it is.
func letters(escaped string) string {
	if !strings.Contains(escaped, "%") {
		return escaped
	}
	var b strings.Builder
	for i := 0; i < len(escaped); i++ {
		if escaped[i] == '%' && i+2 < len(escaped) {
			if c, err := strconv.ParseUint(escaped[i+1:i+3], 16, 8); err == nil && isUnreserved(byte(c)) {
				b.WriteByte(byte(c))
				i += 2
				continue
			}
		}
		b.WriteByte(escaped[i])
	}
	return b.String()
}

func isUnreserved(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~", c) >= 0
}
