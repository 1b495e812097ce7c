package policy

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// maxPatterns is how many patterns the endpoints of a policy may have together: net/http compares those with wildcards one by one.
const maxPatterns = 2000

// checkMatch lets net/http try the patterns: what a ServeMux refuses is refused here.
func (p *Policy) checkMatch(found *problems) {
	taken := map[string]string{} // the path of each pattern
	mux := http.NewServeMux()
	count := 0
	for i := range p.Endpoints {
		for j, pattern := range p.Endpoints[i].Match {
			at := fmt.Sprintf("endpoints[%d].match[%d]", i, j)
			if count++; count > maxPatterns {
				found.add(at, "must be one of at most %d patterns: match several paths with a wildcard or a prefix", maxPatterns)
				return
			}
			if checkPattern(pattern) != "" {
				continue // said already
			}
			if refused, _ := register(http.NewServeMux(), pattern); refused != "" {
				found.add(at, "%s", refused)
				continue
			}
			if refused, other := register(mux, pattern); refused != "" {
				found.add(at, "%s conflicts with %s of %s: %s", quote(pattern), quote(other), taken[other], refused)
				continue
			}
			taken[pattern] = at
		}
	}
}

// register returns why a mux refuses a pattern, in one line, and the pattern that it conflicts with; "" when it takes it.
func register(mux *http.ServeMux, pattern string) (refused, other string) {
	defer func() {
		if r := recover(); r != nil {
			text := fmt.Sprint(r)
			refused, other = reason(text, pattern), conflicting(text)
		}
	}()
	mux.Handle(pattern, http.NotFoundHandler())
	return "", ""
}

// conflicting is the second pattern of `pattern "/a" (registered at ...) conflicts with pattern "/b" (...`.
func conflicting(text string) string {
	_, rest, _ := strings.Cut(text, ") conflicts with pattern ")
	quoted, err := strconv.QuotedPrefix(rest)
	if err != nil {
		return ""
	}
	other, _ := strconv.Unquote(quoted) // it was quoted by net/http
	return other
}

// reason is what a panic of net/http says without where it was called.
func reason(text, pattern string) string {
	first, rest, more := strings.Cut(text, "\n")
	if more {
		first = strings.ReplaceAll(strings.TrimSuffix(rest, "."), "\n", " ")
	} else {
		first = strings.TrimPrefix(first, fmt.Sprintf("parsing %q: ", pattern))
	}
	return strings.TrimPrefix(strings.TrimSuffix(first, "."), "http: ")
}
