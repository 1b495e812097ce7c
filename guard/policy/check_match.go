package policy

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// maxPatterns limits the patterns of all endpoints together: net/http compares those with wildcards one by one.
const maxPatterns = 2000

// checkMatch registers all patterns in a ServeMux and reports those that net/http rejects.
func (p *Policy) checkMatch(found *problems) {
	paths := map[string]string{} // policy path of each registered pattern
	mux := http.NewServeMux()
	count := 0
	for i := range p.Endpoints {
		for j, pattern := range p.Endpoints[i].Match {
			at := fmt.Sprintf("endpoints[%d].match[%d]", i, j)
			if count++; count > maxPatterns {
				found.add(at, "exceeds the %d patterns of a policy: match several paths with a wildcard or a prefix", maxPatterns)
				return
			}
			if checkPattern(pattern) != "" {
				continue // reported by bounds
			}
			if rejected, _ := register(http.NewServeMux(), pattern); rejected != "" {
				found.add(at, "%s", rejected)
				continue
			}
			if rejected, other := register(mux, pattern); rejected != "" {
				found.add(at, "%s conflicts with %s of %s: %s", quote(pattern), quote(other), paths[other], rejected)
				continue
			}
			paths[pattern] = at
		}
	}
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
