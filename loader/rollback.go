package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
)

// RollbackOptions configure a PlanRollback. The zero value is useful.
type RollbackOptions struct {
	// To is the recorded release to restore: its version, or its ID if two releases have that version. It may be a higher
	// version, to undo a rollback or a retire. Defaults to the release that the present one replaced.
	To string
	// From is a library to restore without records, from an older checkout. Defaults to the records.
	From *fcall.Library
}

// PlanRollback returns a plan that replaces the present release with an earlier one on every node. It changes nothing;
// [Target.Apply] executes the plan. The present release is the highest version on the primaries.
//
// Without a recorded release the error is ErrNoRecord. Rollbacks follow the order of deploys, not of versions: after 1.0.0,
// 1.1.0 and 1.2.0, of which 1.1.0 was rolled back, a rollback leads from 1.2.0 to 1.0.0. A second rollback never restores the
// release that the first one left.
func (t *Target) PlanRollback(ctx context.Context, serverName string, o RollbackOptions) (*Plan, error) {
	if o.From != nil && o.To != "" {
		return nil, &Error{Op: "rollback", Library: serverName, Reason: ErrLibrary, Text: "set To or From, not both"}
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := s.check(ctx)
	lib := o.From
	if lib == nil {
		if lib, err = s.records.earlier(ctx, states, serverName, o.To); err != nil {
			return nil, err
		}
	}
	if lib.ServerName != serverName {
		return nil, &Error{Op: "rollback", Library: serverName, Reason: ErrLibrary, Text: "the given library is " + lib.ServerName + ", which is another library"}
	}
	if err := checkLibraries("rollback", []*fcall.Library{lib}); err != nil {
		return nil, err
	}
	return planFor(states, []*fcall.Library{lib}, OpRollback), nil
}

// earlier returns the release to restore, with its source.
func (rec records) earlier(ctx context.Context, states []NodeState, serverName, to string) (*fcall.Library, error) {
	all, err := rec.releases(ctx)
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
	code, err := rec.code(ctx, *r)
	if err != nil {
		return nil, err
	}
	return &fcall.Library{Name: r.Name, Version: r.Version, ServerName: r.Library, Code: code}, nil
}

// choose returns the release to restore. all are sorted, the newest first.
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
		return refuse("%s is loaded, but no deploy has recorded it: another tool loaded it, or the records are lost (FLUSHALL removes them); %s%s", present.Version, recorded(all), from)
	case now.Replaced == "":
		return refuse("%s is the first recorded release; to remove it: rlfunc retire %s; %s%s", present.Version, serverName, recorded(all), from)
	}
	if r := find(func(r Release) bool { return r.ID() == now.Replaced }); r != nil {
		return r, nil
	}
	return refuse("%s replaced %s, which is no longer recorded; %s%s", present.Version, versionOf(now.Replaced), recorded(all), from)
}

// recorded lists the recorded releases.
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
