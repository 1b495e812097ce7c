package outbound

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rlfunc/rlfunc/guard/identity"
)

// resources are the names by which responses say what a limit holds for: a resource, a policy or a bucket. A request waits for the pauses of those that
// earlier responses named for its endpoint, or, if it is the first of its endpoint, for all below the same first segment of its path. The zero value knows
// none. It is safe for concurrent use.
type resources struct {
	mu sync.Mutex
	of map[string][]string // by upstream and endpoint or segment; empty for a segment with several
}

const (
	maxRoutes = 10_000 // of all upstreams; beyond that it begins anew
	maxNames  = 4      // of an endpoint
	maxName   = 64     // bytes
)

// versions are segments with which all paths of an API may begin.
var versions = regexp.MustCompile(`^(api|rest|v[0-9]+(\.[0-9]+)?([a-z]+[0-9]*)?|[0-9]{4}-[0-9]{2}(-[0-9]{2})?)$`)

// endpoint returns that of a request, such as GET /v1/charges/* without identifiers, and the first segment of its path that is no version.
func (r *route) endpoint(method string) (endpoint, segment string) {
	segments := strings.Split(r.path, "/")
	for i, s := range segments {
		switch {
		case s == "" || versions.MatchString(s):
		case segment == "":
			segment = s
		case strings.ContainsAny(s, "0123456789") && !strings.Contains(s, ":"): // a verb follows a colon
			segments[i] = "*"
		}
	}
	return method + " " + strings.Join(segments, "/"), segment
}

// learn notes the names that a response gave its request's endpoint.
func (all *resources) learn(r *route, endpoint, segment string, names []string) {
	if len(names) == 0 || len(names) > maxNames {
		return
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.of == nil || len(all.of) > maxRoutes {
		all.of = map[string][]string{}
	}
	own, below := r.Name+" "+endpoint, r.Name+" "+segment
	known := all.of[own]
	for _, name := range names {
		if !slices.Contains(known, name) && len(known) < maxNames {
			known = append(slices.Clip(known), name)
		}
	}
	all.of[own] = known
	switch had, ok := all.of[below]; {
	case !ok:
		all.of[below] = names
	case !slices.Equal(had, names):
		all.of[below] = []string{}
	}
}

// subjects returns the account and what of it a request is about.
func (all *resources) subjects(account string, r *route, method string) []string {
	subjects := []string{account}
	all.mu.Lock()
	defer all.mu.Unlock()
	if len(all.of) == 0 {
		return subjects
	}
	endpoint, segment := r.endpoint(method)
	names, ok := all.of[r.Name+" "+endpoint]
	if !ok {
		names = all.of[r.Name+" "+segment]
	}
	for _, name := range names {
		subjects = append(subjects, partOf(account, name))
	}
	return subjects
}

// partOf returns the subject that the pauses of a part of an account block: account=github/default#search.
func partOf(account, name string) string {
	if name == "" {
		return account
	}
	if len(name) > maxName {
		return account + "#" + identity.Digest(name)
	}
	return account + "#" + identity.Value(name)
}
