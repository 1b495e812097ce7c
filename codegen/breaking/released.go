package breaking

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// ReleasedFile is next to the libraries and lists the released versions, as `ratelimit 1.0.0 sha256:...`.
const ReleasedFile = "released.sum"

// Released is the content of released.sum.
type Released struct {
	File  string // "functions/released.sum"
	Lines []Release

	bad []badLine
}

// A Release is one version of a library that was released.
type Release struct {
	Library string
	Version string
	Digest  string // SHA-256 of its bundle, in hexadecimal digits
	Line    int
}

type badLine struct {
	line int
	text string
}

var releaseForm = regexp.MustCompile(`^([a-z][a-z0-9_]*) (\S+) sha256:([0-9a-f]{64})$`)

// ReadReleased reads released.sum. What cannot be read is a finding of the rule released-form.
func ReadReleased(file, text string) *Released {
	r := &Released{File: file}
	line := 0
	for content := range strings.Lines(text) {
		line++
		content = strings.TrimRight(content, "\r\n")
		if content == "" {
			continue
		}
		m := releaseForm.FindStringSubmatch(content)
		switch {
		case m == nil || !semver.IsValid("v"+m[2]):
			r.bad = append(r.bad, badLine{line, "a line is a library, its version and the digest of its bundle: ratelimit 1.0.0 sha256:<64 hexadecimal digits>"})
		case r.has(m[1], m[2]):
			r.bad = append(r.bad, badLine{line, fmt.Sprintf("%s %s is repeated", m[1], m[2])})
		default:
			r.Lines = append(r.Lines, Release{Library: m[1], Version: m[2], Digest: m[3], Line: line})
		}
	}
	return r
}

// find looks a version up; in no file there is none.
func (r *Released) find(library, version string) (Release, bool) {
	if r == nil {
		return Release{}, false
	}
	i := slices.IndexFunc(r.Lines, func(l Release) bool { return l.Library == library && l.Version == version })
	if i < 0 {
		return Release{}, false
	}
	return r.Lines[i], true
}

func (r *Released) has(library, version string) bool {
	_, ok := r.find(library, version)
	return ok
}

// Record is the text of released.sum with the snapshot's versions in it, and which of them are new there. They must have been compared.
func Record(s *Snapshot) (text string, added []Release) {
	var all []Release
	if s.Released != nil {
		all = slices.Clone(s.Released.Lines)
	}
	for _, lib := range s.Libraries {
		r := Release{Library: lib.Spec.Name, Version: lib.Spec.Version, Digest: lib.Digest}
		if !s.Released.has(r.Library, r.Version) {
			all, added = append(all, r), append(added, r)
		}
	}
	slices.SortStableFunc(all, func(a, b Release) int {
		return cmp.Or(cmp.Compare(a.Library, b.Library), compareVersions(a.Version, b.Version))
	})
	var b strings.Builder
	for _, r := range all {
		fmt.Fprintf(&b, "%s %s sha256:%s\n", r.Library, r.Version, r.Digest)
	}
	return b.String(), added
}
