package policy

import (
	"fmt"
	"net/http"
	"strings"
)

// A place is a pattern with its path.
type place struct{ at, pattern string }

// checkMatch lets net/http try the patterns: what a ServeMux refuses is refused here.
func (p *Policy) checkMatch(found *problems) {
	var taken []place
	mux := http.NewServeMux()
	for i := range p.Endpoints {
		for j, pattern := range p.Endpoints[i].Match {
			here := place{fmt.Sprintf("endpoints[%d].match[%d]", i, j), pattern}
			if checkPattern(pattern) != "" {
				continue // said already
			}
			if refused := register(http.NewServeMux(), pattern); refused != "" {
				found.add(here.at, "%s", refused)
				continue
			}
			if register(mux, pattern) == "" {
				taken = append(taken, here)
				continue
			}
			found.add(here.at, "%s", conflict(here, taken))
		}
	}
}

// conflict finds with whom a pattern conflicts, and says why.
func conflict(here place, taken []place) string {
	for _, other := range taken {
		mux := http.NewServeMux()
		register(mux, other.pattern)
		if refused := register(mux, here.pattern); refused != "" {
			return fmt.Sprintf("%s conflicts with %s of %s: %s", quote(here.pattern), quote(other.pattern), other.at, refused)
		}
	}
	return quote(here.pattern) + " conflicts with another one" // not reached: a conflict is between two
}

// register returns why a mux refuses a pattern, in one line; "" when it takes it.
func register(mux *http.ServeMux, pattern string) (refused string) {
	defer func() {
		if r := recover(); r != nil {
			refused = reason(fmt.Sprint(r), pattern)
		}
	}()
	mux.Handle(pattern, http.NotFoundHandler())
	return ""
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
