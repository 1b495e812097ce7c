package web

import (
	"cmp"
	"net/url"
	"path"
	"strings"
)

// ambiguity returns why routers read an escaped path, that of u, in different ways, or "". clean says that the service's router cleans paths
// as path.Clean does, and keep that it takes %2F as a part of a segment.
func ambiguity(escaped string, u *url.URL, clean, keep bool) string {
	switch {
	case u.RawPath == "" && isPlainPath(escaped):
		return ""
	case escaped[0] != '/':
		return "it does not begin with a slash"
	case strings.Contains(u.RawPath, "#"):
		return "it has a fragment"
	}
	for i := range len(u.Path) {
		switch c := u.Path[i]; {
		case c == '\\':
			return "it has a backslash"
		case c == ';':
			return "it has a semicolon"
		case c < ' ' || c == 0x7f:
			return "it has a control character"
		}
	}
	if !clean && cleaned(escaped) != escaped {
		return "it has an empty segment or a dot segment"
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if end := strings.TrimRight(segment, ". "); end != segment && (end != "" || strings.Contains(segment, " ")) { // as Caddy and Windows read names
			return "it has a segment that ends with a dot or a blank"
		}
	}
	for rest, found := escaped, true; ; {
		if _, rest, found = strings.Cut(rest, "%"); !found || len(rest) < 2 {
			return ""
		}
		switch code := strings.ToUpper(rest[:2]); {
		case code == "2E":
			return "it has an escaped dot"
		case code == "2F" && !keep:
			return "it has an escaped slash"
		case code == "25" && isEscape(rest[2:]):
			return "it is escaped twice"
		}
	}
}

// CheckMethod returns an *AmbiguousError for a full gRPC method that proxies or servers may take for another.
func CheckMethod(method string) error {
	why := ambiguity(cmp.Or(method, "?"), &url.URL{Path: method, RawPath: method}, false, false)
	switch {
	case why != "":
	case strings.ContainsAny(method, "%?"):
		why = "it has an escape or a query"
	case strings.HasSuffix(method, "/"):
		why = "it ends with a slash"
	default:
		return nil
	}
	return &AmbiguousError{"method of the call", why}
}

// isPlainPath reports whether a path has only letters, digits, - and _ between single slashes, as most paths do: all routers read it alike.
func isPlainPath(escaped string) bool {
	for i := range len(escaped) {
		switch c := escaped[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_':
		case c == '/' && (i == 0 || escaped[i-1] != '/'):
		default:
			return false
		}
	}
	return escaped[0] == '/'
}

// isEscape reports whether a text begins as an escape does behind its percent sign.
func isEscape(text string) bool {
	_, err := url.PathUnescape("%" + text[:min(2, len(text))])
	return err == nil
}

// cleaned removes empty and dot segments and keeps a last slash.
func cleaned(p string) string {
	c := path.Clean(p)
	if c != "/" && (strings.HasSuffix(p, "/") || strings.HasSuffix(p, "/.") || strings.HasSuffix(p, "/..")) {
		c += "/"
	}
	return c
}
