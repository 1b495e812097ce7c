package web

import (
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// These bound the work for a path that routers read in several ways; plain paths have no bound.
const (
	maxBytes    = 8 << 10
	maxSegments = 256
)

// Variants returns the escaped paths by which a ServeMux finds every endpoint that some router may match. Routers may decode a path partly
// or fully, clean it, treat empty and dot segments as values, or strip the last slash. Most paths have one variant. It reports false for
// a path that is too long to be read in all these ways.
func Variants(escaped, decoded string) (variants []string, ok bool) {
	if IsPlain(escaped) && escaped == decoded {
		return []string{escaped}, true
	}
	if len(escaped) > maxBytes || strings.Count(decoded, "/") > maxSegments {
		return nil, false
	}
	var all []string
	add := func(p string) {
		for _, p := range []string{p, strings.TrimRight(p, "/")} {
			if p != "" && !slices.Contains(all, p) {
				all = append(all, p)
			}
		}
	}
	bases := slices.Compact([]string{escaped, letters(escaped), escape(decoded)})
	for _, p := range bases {
		add(cleaned(p))
	}
	for _, p := range bases {
		add(literal(p))
		add(literal(merged(p)))
		add(literal(undotted(p)))
	}
	return all, true
}

// Fold returns a path in which letters that differ only in case are the same, also those that fold to ASCII, such as U+017F.
func Fold(path string) string { return strings.ToLower(strings.ToUpper(path)) }

// FoldEscaped folds an escaped path.
func FoldEscaped(escaped string) string {
	segments := strings.Split(escaped, "/")
	for i, s := range segments {
		if decoded, err := url.PathUnescape(s); err == nil && !strings.HasPrefix(s, "{") { // the wildcard of a pattern
			segments[i] = url.PathEscape(Fold(decoded))
		}
	}
	return strings.Join(segments, "/")
}

// IsPlain reports whether all routers read a path alike, apart from escapes.
func IsPlain(p string) bool {
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

// cleaned removes empty and dot segments and keeps a last slash.
func cleaned(p string) string {
	c := path.Clean("/" + p)
	if strings.HasSuffix(p, "/") && c != "/" {
		c += "/"
	}
	return c
}

// merged removes empty segments.
func merged(p string) string {
	var b strings.Builder
	for i := range len(p) {
		if p[i] != '/' || i == 0 || p[i-1] != '/' {
			b.WriteByte(p[i])
		}
	}
	return b.String()
}

// undotted removes dot segments; ".." also removes the segment before it, even if empty (RFC 3986, 5.2.4).
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

// aSegment replaces a segment that a ServeMux would remove or read as the path's end. Only a wildcard matches it.
const aSegment = "%00"

// literal replaces empty and dot segments by a value.
func literal(p string) string {
	segments := strings.Split(strings.TrimPrefix(p, "/"), "/")
	for i, s := range segments {
		if s == "." || s == ".." || s == "" && i < len(segments)-1 || strings.EqualFold(s, "%2f") {
			segments[i] = aSegment
		}
	}
	return "/" + strings.Join(segments, "/")
}

// escape escapes a decoded path so that it decodes to itself.
func escape(decoded string) string {
	return strings.NewReplacer("%", "%25", "?", "%3F", "#", "%23").Replace(decoded)
}

// letters decodes unreserved characters (RFC 3986, 6.2.2.2) and keeps %2F.
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
