package loader

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"slices"

	"github.com/redis/go-redis/v9"
	"golang.org/x/mod/semver"
)

// Two operations at once, stopped and resumed anywhere, leave every primary with one version, by two rules.
//
// An operation first writes in the records that it is the last one on its libraries (see [session.begin]), in a transaction that fails if
// another one did so, or the nodes changed, since its plan. Whoever plans later sees it, and takes its place; but a deploy does not take the
// place of one of a higher version.
//
// Then it visits every primary, in a transaction that watches that primary's revision: it reads in the records whether it still is the last
// one, and what the primary holds, loads what it wants there, and raises the revision, also where the primary holds that already. So whoever
// has been replaced finds that out, or its transaction fails because its successor was there: it cannot undo what its successor did.
//
// A primary of a cluster that owns no slots takes no keys, so nothing keeps two operations there apart; the next plan shows what they left.

// An operation is a change of a target that is under way, and its records.
type operation struct {
	plan    *Plan // of now
	options ApplyOptions
	records records
	event   Event
	known   map[string]Release
}

// begun reports whether the operation has anything to do.
func (g *operation) begun() bool { return !g.event.At.IsZero() }

// begin makes the operation the last one on its libraries, if no other one has begun and no node has changed since the plan. Then it records
// that it begins, and the releases that it replaces and loads. If that fails the operation does not run.
func (s *session) begin(ctx context.Context, p *Plan, o ApplyOptions) (*operation, error) {
	g := &operation{options: o, records: s.records, event: Event{ID: rand.Text(), Op: p.Op, By: shorten(oneLine(cmp.Or(o.By, "unknown")), 200), Outcome: Unfinished}}
	err := s.records.on(ctx, func(server *redis.Client) error {
		return server.Watch(ctx, func(tx *redis.Tx) error {
			fields, err := g.claim(ctx, s, p)
			if err == nil && len(fields) > 0 {
				_, err = tx.TxPipelined(ctx, func(p redis.Pipeliner) error { return p.HSet(ctx, keyCurrent, fields...).Err() })
			}
			return err
		}, keyCurrent)
	})
	switch {
	case errors.Is(err, redis.TxFailedErr):
		return nil, changed("another operation began at the same moment")
	case err == nil && g.begun():
		err = g.recordBeginning(ctx)
	}
	return g, err
}

// claim returns the fields of keyCurrent that make the operation the last one on its libraries, or an error if it may not be.
func (g *operation) claim(ctx context.Context, s *session, p *Plan) (fields []any, err error) {
	current, err := g.records.current(ctx)
	if err != nil {
		return nil, err
	}
	unfinished := false
	for i, lib := range p.libs {
		d := current[lib.ServerName]
		same := d.ID != "" && d.Digest == digest(lib)
		if after := p.Libraries[i].After; !same && after != unread && d.ID != after {
			return nil, changed(d.String() + ", came after the plan of " + lib.ServerName)
		}
		order := semver.Compare("v"+d.Version, "v"+lib.Version)
		if !same && !d.ended && d.Digest != "" && p.Op == OpDeploy && (order > 0 || order == 0 && !g.options.ReplaceDrifted) {
			return nil, &Error{
				Op: string(p.Op), Library: lib.ServerName, Reason: ErrUnfinished,
				Text: d.String() + ", has not ended; nothing was loaded; wait for it; if its process is gone, run it again, or `rlfunc rollback` to this version",
			}
		}
		unfinished = unfinished || same && !d.ended
	}
	if g.plan, err = s.planAgain(ctx, p, g.options); err != nil || !unfinished && g.plan.Count(g.options.wants) == 0 {
		return nil, err
	}
	if g.event.At, err = g.records.now(ctx); err != nil {
		return nil, err
	}
	for i, lib := range p.libs {
		d := decision{ID: g.event.ID, Op: p.Op, Version: lib.Version, Digest: digest(lib), By: g.event.By, At: g.event.At}
		for _, l := range g.replaced(i) {
			d.Replaced = l.release().ID()
		}
		text, err := json.Marshal(d)
		if err != nil {
			return nil, err
		}
		fields = append(fields, lib.ServerName, string(text))
	}
	return fields, nil
}

// replaced returns what a library replaces on the nodes, the highest version last.
func (g *operation) replaced(i int) (all []LoadedLibrary) {
	for j, n := range g.plan.Nodes {
		there := named(g.plan.States[j].Libraries, g.plan.libs[i].ServerName)
		if g.options.wants(n.Steps[i]) && there != nil && there.Name != "" {
			all = append(all, *there)
		}
	}
	slices.SortFunc(all, func(a, b LoadedLibrary) int { return semver.Compare("v"+a.Version, "v"+b.Version) })
	return all
}

// recordBeginning records the releases that the operation replaces and loads, and that it begins.
func (g *operation) recordBeginning(ctx context.Context) (err error) {
	all, err := g.records.releases(ctx)
	if err != nil {
		return err
	}
	g.known = map[string]Release{}
	for _, r := range all {
		g.known[r.Digest] = r
	}
	p := g.plan
	for i, lib := range p.libs {
		replaced := g.replaced(i)
		for _, l := range replaced {
			r := l.release()
			if _, ok := g.known[r.Digest]; ok {
				continue
			}
			r.At = g.event.At
			if err := g.keep(ctx, r, l.Code); err != nil {
				return err
			}
		}
		if p.Op == OpRetire || !slices.ContainsFunc(p.Nodes, func(n NodeSteps) bool { return g.options.wants(n.Steps[i]) }) {
			continue
		}
		r := releaseOf(lib)
		r.At, r.By, r.Replaced = g.event.At, g.event.By, g.known[r.Digest].Replaced
		if n := len(replaced); n > 0 && semver.Compare("v"+replaced[n-1].Version, "v"+lib.Version) <= 0 {
			r.Replaced = replaced[n-1].release().ID() // a rollback leads to a lower version, never back to the one it has left
		}
		if err := g.keep(ctx, r, lib.Code); err != nil {
			return err
		}
	}
	for _, c := range p.Clients[:min(len(p.Clients), keptForced)] {
		g.event.Forced = append(g.event.Forced, c.String())
	}
	g.event.Changes = changesOf(p.Nodes, func(_ NodeSteps, s Step) bool { return g.options.wants(s) })
	return g.record(ctx)
}

// keep stores a release. The source is stored first, because a release without it is useless.
func (g *operation) keep(ctx context.Context, r Release, code string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	g.known[r.Digest] = r
	return g.records.write(ctx, []any{"HSET", keyCode, r.Digest, code}, []any{"HSET", keyReleases, r.Digest, string(text)})
}

// end records the outcome, even if ctx is over. A failure is a warning, because the libraries are loaded.
func (g *operation) end(ctx context.Context, r *Result) {
	if !g.begun() {
		return
	}
	ctx = context.WithoutCancel(ctx)
	if err := g.conclude(ctx, r); err != nil {
		r.Warnings = append(r.Warnings, warning("not_recorded", "the outcome could not be recorded: "+oneLine(err.Error()), ""))
	}
}

func (g *operation) conclude(ctx context.Context, r *Result) (err error) {
	if g.event.Ended, err = g.records.now(ctx); err != nil {
		return err
	}
	good := 0
	for _, n := range r.Nodes {
		good += n.changed()
	}
	switch {
	case len(r.problems()) == 0:
		g.event.Outcome = Done
	case good > 0:
		g.event.Outcome = Partly
	default:
		g.event.Outcome = Failed
	}
	g.event.Changes = changesOf(r.Nodes, func(n NodeSteps, s Step) bool { return s.Problem != nil || s.Outcome == Done && n.Follows == "" })
	ended := []any{"HSET", keyCurrent}
	for i, lib := range g.plan.libs {
		ended = append(ended, lib.ServerName+endedField, g.event.ID)
		if g.plan.Op != OpRetire || g.event.Outcome == Done {
			if err := g.trim(ctx, i); err != nil {
				return err
			}
		}
	}
	return cmp.Or(g.record(ctx), g.records.write(ctx, ended))
}

// trim deletes all but the newest releases of a library, of a retired one all but the last. It keeps those that nodes hold, and those that they
// replaced.
func (g *operation) trim(ctx context.Context, i int) error {
	held, most := []string{digest(g.plan.libs[i])}, keptReleases
	for _, n := range g.plan.Nodes {
		held = append(held, n.Steps[i].FromDigest)
	}
	if g.plan.Op == OpRetire {
		most = 1
	}
	needed := map[string]bool{}
	var own []Release
	for _, r := range g.known {
		if r.Library == g.plan.libs[i].ServerName {
			own = append(own, r)
			if slices.Contains(held, r.Digest) {
				needed[r.ID()], needed[r.Replaced] = true, true
			}
		}
	}
	slices.SortFunc(own, newestFirst)
	for _, r := range own[min(len(own), most):] {
		if needed[r.ID()] {
			continue
		}
		if err := g.records.write(ctx, []any{"HDEL", keyReleases, r.Digest}, []any{"HDEL", keyCode, r.Digest}); err != nil {
			return err
		}
	}
	return nil
}

// record stores the event, once when it begins and once when it ends.
func (g *operation) record(ctx context.Context) error {
	text, err := g.event.text()
	if err != nil {
		return err
	}
	return g.records.write(ctx, []any{"RPUSH", keyHistory, string(text)}, []any{"LTRIM", keyHistory, -keptEvents, -1})
}
