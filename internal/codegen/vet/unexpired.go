package vet

import (
	"fmt"
	"maps"
	"slices"
)

// An unexpired write waits for an expiry of its key.
type unexpired struct {
	site
	key string
}

// noteReturn records at which return of the public function writes wait for an expiry.
func (r *run) noteReturn(s *state, at site) {
	r.returns[at.at.line] = true
	for _, e := range s.ttl {
		for _, write := range e.v.pending {
			w := unexpired{write, e.name}
			if r.lacking[w] == nil {
				r.lacking[w] = map[int]bool{}
			}
			r.lacking[w][at.at.line] = true
		}
	}
}

// pathWithout names the path on which a write has no expiry by its return, if others have one.
func (r *run) pathWithout(w unexpired) string {
	if lines := r.lacking[w]; len(lines) > 0 && len(lines) < len(r.returns) {
		return fmt.Sprintf("the path that returns in line %d", slices.Min(slices.Collect(maps.Keys(lines))))
	}
	return "some path"
}
