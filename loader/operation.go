package loader

import (
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/loader/internal/conn"
)

// keptEvents is the number of stored events. An operation stores two: at its beginning and at its end.
const keptEvents = 1000

// An Op is an operation on a target.
type Op string

// The operations.
const (
	OpDeploy   Op = "deploy"
	OpRollback Op = "rollback"
	OpRetire   Op = "retire"
)

// An Event is one operation on a target.
type Event struct {
	ID      string        `json:"id"`
	Op      Op            `json:"op"`
	By      string        `json:"by"`
	At      time.Time     `json:"at"`               // the beginning, by the server's clock
	Ended   time.Time     `json:"ended,omitzero"`   // the end; zero while unfinished
	Outcome Outcome       `json:"outcome"`          // Unfinished, Done, Partly or Failed
	Changes []EventChange `json:"changes"`          // the planned changes with their outcomes
	More    int           `json:"more,omitempty"`   // number of changes left out to keep the event small
	Forced  []string      `json:"forced,omitempty"` // of a forced retire: the first clients in use
}

// An EventChange is the same change of one library on one or more nodes.
type EventChange struct {
	Library string   `json:"library"`
	From    string   `json:"from,omitempty"`
	To      string   `json:"to,omitempty"`
	Outcome Outcome  `json:"outcome,omitempty"` // empty while unfinished
	Problem string   `json:"problem,omitempty"`
	Count   int      `json:"count"` // number of nodes
	Nodes   []string `json:"nodes"` // the first of them, by address
}

// Bounds of an event. All events together take at most keptEvents times maxEvent.
const (
	maxEvent   = 4 << 10 // bytes
	keptNodes  = 3
	keptForced = 10
)

// History lists the last operations on the target, the newest first. Operations without changes are not recorded.
func (t *Target) History(ctx context.Context, last int) ([]Event, error) {
	s, err := t.open(ctx, false)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.records.events(ctx, last)
}

func (rec records) events(ctx context.Context, last int) ([]Event, error) {
	reply, err := rec.read(ctx, "LRANGE", keyHistory, -2*max(last, 1), -1)
	if err != nil {
		return nil, err
	}
	items, _ := reply.([]any)
	at := map[string]int{}
	events := []Event{}
	for _, item := range items {
		text, _ := item.(string)
		var e Event
		if err := json.Unmarshal([]byte(text), &e); err != nil || e.ID == "" {
			return nil, &Error{Op: "read the history", Reason: ErrRejected, Cause: err, Text: keyHistory + " holds something that rlfunc did not write; remove it"}
		}
		if i, ok := at[e.ID]; ok {
			events[i] = e
			continue
		}
		at[e.ID] = len(events)
		events = append(events, e)
	}
	slices.Reverse(events)
	return events[:min(len(events), max(last, 1))], nil
}

// An operation holds the locks of a change and records it.
type operation struct {
	records records
	event   Event
	changes []EventChange // each on one node
	known   map[string]Release

	mu   sync.Mutex
	held []*fence
	stop context.CancelFunc // ends the renewal of what is held
}

// begin records the releases that the operation replaces and loads, and that it begins. If that fails the operation does not
// run.
func (g *operation) begin(ctx context.Context, p *Plan, o ApplyOptions) error {
	now, err := g.records.now(ctx)
	if err != nil {
		return err
	}
	g.event.At = now
	if g.known, err = g.records.known(ctx); err != nil {
		return err
	}
	for i, lib := range p.libs {
		replaced, coming := "", false
		for j, n := range p.Nodes {
			s := n.Steps[i]
			if !o.wants(s) {
				continue
			}
			coming = true
			g.changes = append(g.changes, EventChange{Library: s.Library, From: s.From, To: s.To, Nodes: []string{n.Addr}})
			there := held(p.States[j], s.Library)
			if there == nil {
				continue
			}
			r := Release{Library: there.ServerName, Name: there.Name, Version: there.Version, Digest: there.Digest, Recorded: now}
			if replaced == "" || semver.Compare("v"+r.Version, "v"+versionOf(replaced)) > 0 {
				replaced = r.ID()
			}
			if _, ok := g.known[r.field()]; !ok {
				if err := g.keep(ctx, r, there.Code); err != nil {
					return err
				}
			}
		}
		if !coming || p.Op == OpRetire {
			continue
		}
		r := releaseOf(lib)
		if known, ok := g.known[r.field()]; ok {
			r = known
		} else {
			r.Recorded = now
		}
		if replaced != "" && semver.Compare("v"+versionOf(replaced), "v"+lib.Version) <= 0 {
			r.Replaced = replaced // a rollback leads to a lower version, never back to the one it has left
		}
		if err := g.keep(ctx, r, lib.Code); err != nil {
			return err
		}
	}
	if p.Op == OpRetire {
		g.event.Forced = inUseBy(p.Clients)
	}
	return g.record(ctx)
}

// keep stores a release.
func (g *operation) keep(ctx context.Context, r Release, code string) error {
	g.known[r.field()] = r
	return g.records.keep(ctx, r, code)
}

// end records the outcome, even if ctx is over. A failure is a warning, because the libraries are loaded.
func (g *operation) end(ctx context.Context, p *Plan, r *Result) {
	if g.event.At.IsZero() {
		return // begin has not run
	}
	ctx, cancel := conn.ForCleanup(ctx)
	defer cancel()
	if err := g.conclude(ctx, p, r); err != nil {
		r.Warnings = append(r.Warnings, warning("not_recorded", "the outcome could not be recorded: "+oneLine(err.Error()), ""))
	}
}

func (g *operation) conclude(ctx context.Context, p *Plan, r *Result) error {
	now, err := g.records.now(ctx)
	if err != nil {
		return err
	}
	for i, lib := range p.libs {
		changed := slices.ContainsFunc(r.Nodes, func(n NodeSteps) bool { return n.Steps[i].Outcome.changed() })
		digests := []string{lib.Digest()}
		for _, n := range p.Nodes {
			s := n.Steps[i]
			digests = append(digests, s.FromDigest)
			from, ok := g.known[(Release{Library: s.Library, Version: s.From, Digest: s.FromDigest}).field()]
			if changed && ok && s.Action == Downgrade && (from.RolledBack == nil || from.RolledBack.At != now) { // once for all nodes
				from.RolledBack = &RolledBack{At: now, By: g.event.By, To: lib.Version}
				if err := g.keep(ctx, from, ""); err != nil {
					return err
				}
			}
		}
		keep := keptReleases
		if p.Op == OpRetire {
			if keep = 1; r.Err() != nil {
				continue
			}
		} else {
			release, ok := g.known[releaseOf(lib).field()]
			if !ok || !changed {
				continue
			}
			release.Deployed, release.By, release.RolledBack = now, g.event.By, nil
			if err := g.keep(ctx, release, ""); err != nil {
				return err
			}
		}
		if err := g.records.trim(ctx, g.known, lib.ServerName, keep, digests); err != nil {
			return err
		}
	}
	g.event.Ended = now
	good, bad := g.outcomes(r)
	switch {
	case bad == 0:
		g.event.Outcome = Done
	case good > 0:
		g.event.Outcome = Partly
	default:
		g.event.Outcome = Failed
	}
	return g.record(ctx)
}

// outcomes adds what came of the changes, and counts the changes and the problems.
func (g *operation) outcomes(r *Result) (good, bad int) {
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			if s.Outcome.changed() {
				good++
			}
			if s.Problem != nil {
				bad++
			}
			i := slices.IndexFunc(g.changes, func(c EventChange) bool { return c.Nodes[0] == n.Addr && c.Library == s.Library })
			if i < 0 {
				if s.Problem == nil {
					continue
				}
				// A partial plan left out this node, which is unchanged.
				i = len(g.changes)
				g.changes = append(g.changes, EventChange{Library: s.Library, From: s.From, Nodes: []string{n.Addr}})
			}
			c := &g.changes[i]
			c.Outcome = s.Outcome
			if s.Problem != nil {
				c.Problem = oneLine(s.Problem.Text)
			}
		}
	}
	return good, bad
}

// record stores the event, once when it begins and once when it ends.
func (g *operation) record(ctx context.Context) error {
	g.event.Changes = grouped(g.changes)
	text, err := g.event.text()
	if err != nil {
		return err
	}
	if err := g.records.write(ctx, "RPUSH", keyHistory, string(text)); err != nil {
		return err
	}
	return g.records.write(ctx, "LTRIM", keyHistory, -keptEvents, -1)
}

// grouped merges equal changes of several nodes.
func grouped(changes []EventChange) []EventChange {
	type key struct {
		library, from, to, problem string
		outcome                    Outcome
	}
	at := map[key]int{}
	groups := []EventChange{}
	for _, c := range changes {
		k := key{c.Library, c.From, c.To, shorten(c.Problem, 200), c.Outcome}
		i, ok := at[k]
		if !ok {
			i = len(groups)
			at[k] = i
			groups = append(groups, EventChange{Library: k.library, From: k.from, To: k.to, Outcome: k.outcome, Problem: k.problem})
		}
		groups[i].Count++
		if len(groups[i].Nodes) < keptNodes {
			groups[i].Nodes = append(groups[i].Nodes, c.Nodes[0])
		}
	}
	return groups
}

// text returns the event as JSON, at most maxEvent bytes. It drops successful changes first.
func (e Event) text() ([]byte, error) {
	e.Changes = slices.Clone(e.Changes)
	for {
		text, err := json.Marshal(e)
		if err != nil || len(text) <= maxEvent || len(e.Changes) == 0 {
			return text, err
		}
		drop := len(e.Changes) - 1
		for i, c := range e.Changes {
			if c.Problem == "" {
				drop = i
			}
		}
		e.More += e.Changes[drop].Count
		e.Changes = slices.Delete(e.Changes, drop, drop+1)
	}
}
