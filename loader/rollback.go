package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/fcall"
)

// RollbackOptions of a PlanRollback.
type RollbackOptions struct {
	// To is the recorded release to go to: its version, or its ID where two releases share one. It may be a higher version, to undo a
	// rollback, or a retire. Defaults to the release that the present one took the place of.
	To string
	// From is the library to go to where nothing is recorded: one of an older checkout. Defaults to the records.
	From *fcall.Library
}

// PlanRollback finds out what it takes to put an earlier release in place of the present one, on every node. It changes nothing; [Target.Apply] does what
// the plan says. The present release is the highest version on the primaries.
//
// Without a record to go by the error is ErrNoRecord, and says what to do. A rollback follows the order of deploys, not of versions: after
// 1.0.0, 1.1.0 and 1.2.0, of which 1.1.0 was rolled back, it leads from 1.2.0 to 1.0.0. It never leads back up by itself.
func (t *Target) PlanRollback(ctx context.Context, serverName string, o RollbackOptions) (*Plan, error) {
	if o.From != nil && o.To != "" {
		return nil, &Error{Op: "rollback", Library: serverName, Reason: ErrLibrary, Text: "give the recorded release or a library, not both"}
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := s.check(ctx)
	lib := o.From
	if lib == nil {
		if lib, err = s.book.earlier(ctx, states, serverName, o.To); err != nil {
			return nil, err
		}
	}
	if lib.ServerName != serverName {
		return nil, &Error{Op: "rollback", Library: serverName, Reason: ErrLibrary, Text: "the library that was given is " + lib.ServerName + ", which lives beside it"}
	}
	if err := checkLibraries("rollback", []*fcall.Library{lib}); err != nil {
		return nil, err
	}
	return planFor(states, []*fcall.Library{lib}, OpRollback), nil
}

// earlier finds the release to go to, with its source.
func (b book) earlier(ctx context.Context, states []NodeState, serverName, to string) (*fcall.Library, error) {
	all, err := b.releases(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r Release) bool { return r.Library != serverName })
	slices.SortFunc(all, newestFirst)
	present := present(states, serverName)
	r, err := choose(all, present, serverName, to)
	if err != nil {
		return nil, err
	}
	code, err := b.code(ctx, *r)
	if err != nil {
		return nil, err
	}
	return &fcall.Library{Name: r.Name, Version: r.Version, ServerName: r.Library, Code: code}, nil
}

// choose picks the release. all are the newest first.
func choose(all []Release, present *LoadedLibrary, serverName, to string) (*Release, error) {
	refuse := func(format string, args ...any) (*Release, error) {
		return nil, &Error{Op: "rollback", Library: serverName, Reason: ErrNoRecord, Text: fmt.Sprintf(format, args...)}
	}
	from := "; with a checkout of the older source: rlfunc rollback " + serverName + " --from DIR"
	find := func(wanted func(Release) bool) *Release {
		if i := slices.IndexFunc(all, wanted); i >= 0 {
			return &all[i]
		}
		return nil
	}
	if to != "" {
		r := find(func(r Release) bool {
			return (r.Version == to || strings.HasPrefix(r.ID(), to) && strings.Contains(to, "@")) && (present == nil || r.Digest != present.Digest)
		})
		switch {
		case r != nil:
			return r, nil
		case present != nil && versionOf(to) == present.Version:
			return find(func(r Release) bool { return r.Digest == present.Digest }), nil
		}
		return refuse("release %s is not recorded; %s%s", to, recorded(all), from)
	}
	if present == nil {
		return refuse("no node holds it, so that there is nothing to go back from; %s; name one with --to, or deploy", recorded(all))
	}
	now := find(func(r Release) bool { return r.Digest == present.Digest })
	switch {
	case now == nil:
		return refuse("%s is there, but no deploy has recorded it: something else loaded it, or the records are lost (FLUSHALL removes them); %s%s", present.Version, recorded(all), from)
	case now.Replaced == "":
		return refuse("%s is the first release that is recorded: nothing was there before it; to remove it: rlfunc retire %s; %s%s", present.Version, serverName, recorded(all), from)
	}
	if r := find(func(r Release) bool { return r.ID() == now.Replaced }); r != nil {
		return r, nil
	}
	return refuse("%s took the place of %s, which is not recorded any more; %s%s", present.Version, versionOf(now.Replaced), recorded(all), from)
}

// recorded lists what there is to choose from.
func recorded(all []Release) string {
	if len(all) == 0 {
		return "no release is recorded"
	}
	var ids []string
	for _, r := range all {
		name := r.Version
		if slices.ContainsFunc(all, func(other Release) bool { return other.Version == r.Version && other.Digest != r.Digest }) {
			name = r.ID()
		}
		ids = append(ids, name)
	}
	return "recorded: " + strings.Join(ids, ", ")
}

// versionOf is the version in a release's ID.
func versionOf(id string) string {
	version, _, _ := strings.Cut(id, "@")
	return version
}

// present is the highest version of a library that is on the primaries.
func present(states []NodeState, serverName string) *LoadedLibrary {
	var highest *LoadedLibrary
	for i := range states {
		if states[i].Follows != "" {
			continue
		}
		if l := held(states[i], serverName); l != nil && (highest == nil || semver.Compare("v"+l.Version, "v"+highest.Version) > 0) {
			highest = l
		}
	}
	return highest
}

// held is the library that a node holds under the name, if rlfunc made it and it is not retired.
func held(state NodeState, serverName string) *LoadedLibrary {
	if l := named(state.Libraries, serverName); l != nil && l.Name != "" && l.Retired.IsZero() {
		return l
	}
	return nil
}

// remember warns where a plan would load what was rolled back. A user who may not read the records is not told.
func (s *session) remember(ctx context.Context, p *Plan) {
	if len(p.Changes()) == 0 {
		return
	}
	known, err := s.book.known(ctx)
	if err != nil {
		return
	}
	for _, lib := range p.libs {
		r, ok := known[lib.ServerName+"@"+releaseID(lib.Version, lib.Digest())]
		if !ok || r.RolledBack == nil {
			continue
		}
		p.Warnings = append(p.Warnings, Warning{
			Code: "rolled_back",
			Text: fmt.Sprintf("%s %s was rolled back to %s on %s by %s; a deploy loads it again", lib.ServerName, lib.Version, r.RolledBack.To, clockTime(r.RolledBack.At), r.RolledBack.By),
		})
	}
}
