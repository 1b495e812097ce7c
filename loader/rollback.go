package loader

import (
	"context"
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
	refuse := func(why string) (*Plan, error) {
		return nil, &Error{Op: "rollback", Library: serverName, Reason: ErrLibrary, Text: why}
	}
	if o.From != nil && o.To != "" {
		return refuse("set To or From, not both")
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states, lib := s.check(ctx), o.From
	if lib == nil {
		if lib, err = s.records.earlier(ctx, present(states, serverName), serverName, o.To); err != nil {
			return nil, err
		}
	}
	if lib.ServerName != serverName {
		return refuse("the given library is " + lib.ServerName + ", which is another library")
	}
	if err := checkLibraries("rollback", []*fcall.Library{lib}); err != nil {
		return nil, err
	}
	p := planFor(states, []*fcall.Library{lib}, OpRollback)
	s.records.remember(ctx, p)
	return p, nil
}

// earlier returns the release to restore, with its source.
func (rec records) earlier(ctx context.Context, present *LoadedLibrary, serverName, to string) (*fcall.Library, error) {
	all, err := rec.releases(ctx)
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(r Release) bool { return r.Library != serverName })
	r, code := choose(all, present, to), any(nil)
	if r != nil {
		if code, err = rec.do(ctx, "HGET", keyCode, r.Digest); err != nil {
			return nil, err
		}
		if text, _ := code.(string); digestOf(text) == r.Digest {
			return &fcall.Library{Name: r.Name, Version: r.Version, ServerName: r.Library, Code: text}, nil
		}
	}
	now := Release{}
	if i := slices.IndexFunc(all, func(r Release) bool { return present != nil && r.Digest == present.Digest }); i >= 0 {
		now = all[i]
	}
	why := ""
	switch {
	case r != nil:
		why = "release " + r.Version + " is recorded, but its source is lost"
	case to != "":
		why = "release " + to + " is not recorded"
	case present == nil:
		why = "no node holds it, so that there is nothing to go back from; name a release with --to, or deploy"
	case now.Digest == "":
		why = present.Version + " is loaded, but no deploy has recorded it: another tool loaded it, or the records are lost (FLUSHALL removes them)"
	case now.Replaced == "":
		why = present.Version + " is the first recorded release; to remove it: rlfunc retire " + serverName
	default:
		why = present.Version + " replaced " + versionOf(now.Replaced) + ", which is no longer recorded"
	}
	return nil, &Error{
		Op: "rollback", Library: serverName, Reason: ErrNoRecord,
		Text: why + "; " + recorded(all) + "; with a checkout of the older source: rlfunc rollback " + serverName + " --from DIR",
	}
}

// choose returns the release to restore, or nil. all are sorted, the newest first.
func choose(all []Release, present *LoadedLibrary, to string) *Release {
	now := func(r Release) bool { return present != nil && r.Digest == present.Digest }
	if i := slices.IndexFunc(all, now); i >= 0 && to == "" {
		to = all[i].Replaced
	}
	// Of several releases of one version, another one than the present.
	for _, skip := range []bool{true, false} {
		for i, r := range all {
			if (r.Version == to || strings.Contains(to, "@") && strings.HasPrefix(r.ID(), to)) && !(skip && now(r)) {
				return &all[i]
			}
		}
	}
	return nil
}

// recorded lists the recorded releases.
func recorded(all []Release) string {
	if len(all) == 0 {
		return "no release is recorded"
	}
	var ids []string
	for _, r := range all {
		ids = append(ids, r.ID())
	}
	return "recorded: " + strings.Join(ids, ", ")
}
