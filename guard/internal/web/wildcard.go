package web

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
)

// Identify reads the identities of a request, also those that are a part of its path.
func (r *Routes) Identify(reader *identity.Reader, req *http.Request, m Match) (identity.Found, error) {
	if len(r.wildcards) == 0 {
		return reader.Read(req, nil)
	}
	if len(m.read) == 0 {
		return reader.Read(req, req.PathValue) // of the router before the guard
	}
	found, err := reader.Read(req, m.read[0].value)
	for _, as := range m.read[1:] {
		for _, name := range r.wildcards {
			subject := name + "=" + identity.Value(as.value(r.Policy.Identities[name].Path))
			if subject != name+"=" && !slices.Contains(found.Subjects, subject) && !slices.Contains(found.Also, subject) {
				found.Also = append(found.Also, subject)
			}
		}
	}
	return found, err
}

// value returns the part of a path that a wildcard of the pattern matches, decoded.
func (as reading) value(name string) string { return segment(as.pattern, as.path, name) }

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
