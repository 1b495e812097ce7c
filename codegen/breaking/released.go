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

// ReadReleased reads released.sum. What cannot be read is a finding of Compare.
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

// lowered looks for an old version above the new one, of its own major; if there is none of that, of the others.
func (c *comparison) lowered(before []*Library) {
	own := slices.DeleteFunc(slices.Clone(before), func(l *Library) bool { return l.Spec.Server != c.new.Spec.Server })
	if len(own) > 0 {
		before = own
	}
	if len(before) == 0 {
		return
	}
	highest := slices.MaxFunc(before, func(a, b *Library) int { return compareVersions(a.Spec.Version, b.Spec.Version) }).Spec
	if s := c.new.Spec; compareVersions(s.Version, highest.Version) < 0 {
		c.atVersion(&versionLowered, "version %s of %s is lower than %s", s.Version, s.Name, highest.Version)
	}
}

// same looks for other bytes of the same version. A version that released.sum does not list is still being made, unless a server has it.
func (c *comparison) same(live bool, r *Released) {
	s := c.new.Spec
	if s.Version != c.old.Spec.Version || c.new.Digest == c.old.Digest {
		return
	}
	line, released := r.find(s.Name, s.Version)
	if r != nil && (!live || released && line.Digest != c.new.Digest) {
		return // what is released is for bytes
	}
	c.atVersion(&versionSame, "%s %s has other bytes than before: raise its version", s.Name, s.Version)
}

// bytes looks for other bytes of a released version.
func (c *comparison) bytes(r *Released) {
	s := c.new.Spec
	if line, ok := r.find(s.Name, s.Version); ok && line.Digest != c.new.Digest {
		c.atVersion(&releasedVersion, "%s %s was released as sha256:%.12s, and these bytes are sha256:%.12s: raise its version", s.Name, s.Version, line.Digest, c.new.Digest)
	}
}

// releases looks at released.sum itself.
func (c *comparison) releases(old, new *Released) {
	if new != nil {
		for _, bad := range new.bad {
			c.at(&releasedVersion, new.File, bad.line, 1, "%s", bad.text)
		}
	}
	if old == nil {
		return
	}
	file := old.File
	if new != nil {
		file = new.File
	}
	for _, was := range old.Lines {
		now, ok := new.find(was.Library, was.Version)
		switch {
		case !ok:
			c.at(&releasedVersion, file, 1, 1, "the line of %s %s is gone: it was released", was.Library, was.Version)
		case now.Digest != was.Digest:
			c.at(&releasedVersion, file, now.Line, 1, "%s %s was released as sha256:%.12s, but the line says sha256:%.12s", was.Library, was.Version, was.Digest, now.Digest)
		}
	}
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
