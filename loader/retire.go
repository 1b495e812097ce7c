package loader

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// RetirementFormat is the version of a Retirement's JSON.
const RetirementFormat = 1

// A Retirement is what it takes to remove a library from every node, and who would notice.
type Retirement struct {
	Format  int              `json:"format"`
	Library string           `json:"library"` // the server name, "ratelimit_v1"
	Nodes   []NodeRetirement `json:"nodes"`
	// Clients gave a sign of using it within the last 15 minutes, in any database.
	Clients []Client `json:"clients"`
	// Warnings say what the clients' list leaves out: databases that cannot be read, services that do not announce themselves.
	Warnings []Warning `json:"warnings,omitempty"`

	tombstone *fcall.Library // what takes its place; nil if nothing is known of it
}

// A NodeRetirement is a Retirement for one node.
type NodeRetirement struct {
	Node
	Action   RetireAction `json:"action"`
	Version  string       `json:"version,omitempty"`
	Digest   string       `json:"digest,omitempty"`
	Problem  *Error       `json:"problem,omitempty"` // of RetireUnfit
	Warnings []Warning    `json:"warnings,omitempty"`
}

// A RetireAction is what a retire does on a node.
type RetireAction string

// The actions.
const (
	RetireDelete  RetireAction = "delete"   // a tombstone takes its place
	RetireBar     RetireAction = "bar"      // it is not there; a tombstone keeps clients from loading it
	RetireAbsent  RetireAction = "absent"   // it is not there, or retired already
	RetireForeign RetireAction = "conflict" // something else has the name, and stays
	RetireFollow  RetireAction = "follow"   // the node is a replica
	RetireUnfit   RetireAction = "unfit"    // the node can not be read, or written
)

// RetireOptions of a Retire.
type RetireOptions struct {
	// Force removes it although clients were seen: their calls fail from then on. Defaults to refusing with ErrInUse.
	Force bool
	// Lock says who retires, and how long another deployer is waited for.
	Lock LockOptions
}

// PlanRetire finds out which nodes hold the library, and which clients of it were seen lately. It changes nothing.
func (t *Target) PlanRetire(ctx context.Context, serverName string) (*Retirement, error) {
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	return s.planRetire(ctx, s.check(ctx), serverName)
}

func (s *session) planRetire(ctx context.Context, states []NodeState, serverName string) (*Retirement, error) {
	if serverName == "" || strings.ContainsFunc(serverName, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return nil, &Error{Op: "retire", Library: serverName, Reason: ErrLibrary, Text: "that is no name of a library on a server; ratelimit_v1 is one"}
	}
	r := &Retirement{Format: RetirementFormat, Library: serverName, Nodes: make([]NodeRetirement, len(states))}
	now, err := s.book.now(ctx)
	if err != nil {
		return nil, err
	}
	if r.tombstone, err = s.book.tombstoneFor(ctx, states, serverName, now); err != nil {
		return nil, err
	}
	for i, state := range states {
		r.Nodes[i] = retirementOf(state, serverName, r.tombstone != nil)
	}
	clients, warnings, err := s.clients(ctx, now.Add(-seenFor))
	if err != nil {
		return nil, err
	}
	if len(clients) == 0 {
		warnings = append(warnings, Warning{
			Code: "no_announcements",
			Text: "no service has announced itself within a day (loader.Announce), so nothing is known about clients of " + serverName + ": if there are any, their calls fail",
		})
	}
	r.Clients = slices.DeleteFunc(clients, func(c Client) bool { return c.Library != serverName || c.Seen.Before(now.Add(-inUse)) })
	r.Warnings = warnings
	return r, nil
}

// tombstoneFor is the tombstone of a library that a node holds, or that is recorded; nil of any other name, which may be a slip of the pen.
func (b book) tombstoneFor(ctx context.Context, states []NodeState, serverName string, now time.Time) (*fcall.Library, error) {
	if l := present(states, serverName); l != nil && l.ours() {
		return tombstone(l.Name, serverName, l.Version, now), nil
	}
	for _, state := range states {
		if l := named(state.Libraries, serverName); l != nil && l.ours() && state.Follows == "" {
			return &fcall.Library{Name: l.Name, Version: l.Version, ServerName: serverName, Code: l.Code}, nil
		}
	}
	all, err := b.releases(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, newestFirst)
	if i := slices.IndexFunc(all, func(r Release) bool { return r.Library == serverName }); i >= 0 {
		return tombstone(all[i].Name, serverName, all[i].Version, now), nil
	}
	return nil, nil
}

// retirementOf is what happens to a node; with bar one without the library gets a tombstone, too.
func retirementOf(state NodeState, serverName string, bar bool) NodeRetirement {
	n := NodeRetirement{Node: state.Node, Action: RetireAbsent, Warnings: state.Warnings}
	switch found := named(state.Libraries, serverName); {
	case found == nil && bar:
		n.Action = RetireBar
	case found == nil || found.ours() && !found.Retired.IsZero():
	case found.ours():
		n.Action, n.Version, n.Digest = RetireDelete, found.Version, found.Digest
	default:
		n.Action, n.Version, n.Digest = RetireForeign, found.Version, found.Digest
	}
	switch {
	case state.Follows != "":
		switch n.Action {
		case RetireDelete:
			n.Action = RetireFollow
		case RetireBar:
			n.Action = RetireAbsent
		}
		if state.Problem != nil {
			n.Warnings = append(slices.Clone(n.Warnings), unseen(state))
		}
	case !state.Readable || n.changes() && state.Problem != nil:
		n.Action, n.Problem = RetireUnfit, state.Problem
	}
	return n
}

func (n NodeRetirement) changes() bool { return n.Action == RetireDelete || n.Action == RetireBar }

// ours tells a library that rlfunc made for the name under which it is there.
func (l LoadedLibrary) ours() bool {
	return l.Name != "" && strings.HasPrefix(l.ServerName, l.Name+"_v")
}

// Changes reports whether a node holds the library, or lacks its tombstone.
func (r *Retirement) Changes() bool { return slices.ContainsFunc(r.Nodes, NodeRetirement.changes) }

// Err is why the library can not be retired, whether or not it is forced, or nil.
func (r *Retirement) Err() error {
	for _, n := range r.Nodes {
		switch n.Action {
		case RetireForeign:
			return &Error{
				Op: "retire", Library: r.Library, Node: n.Addr, Reason: ErrConflict,
				Text: "the library of that name was not made by rlfunc; nothing was deleted; who loaded it can remove it with FUNCTION DELETE",
			}
		case RetireUnfit:
			return n.Problem.at("retire", r.Library)
		}
	}
	return nil
}

// InUse is the ErrInUse that an unforced Retire gives, or nil.
func (r *Retirement) InUse() error {
	if len(r.Clients) == 0 {
		return nil
	}
	last := r.Clients[0]
	for _, c := range r.Clients {
		if c.Seen.After(last.Seen) {
			last = c
		}
	}
	who := "1 client of it was"
	if n := len(r.Clients); n > 1 {
		who = fmt.Sprintf("%d clients of it were", n)
	}
	return &Error{
		Op: "retire", Library: r.Library, Reason: ErrInUse,
		Text: fmt.Sprintf("%s seen in the last 15 minutes, the last one %s (%s) at %s; nothing was deleted; stop them, or force it and their calls fail",
			who, last.Instance, last.Version, clockTime(last.Seen)),
	}
}

// Retire removes the library from every node, as the plan says, under the lock of a deploy. It deletes nothing that rlfunc did not make, and nothing
// that the plan has not seen: then it is ErrMoved. The source is recorded before, so that PlanRollback with To brings it back; the records of
// other releases go.
//
// A tombstone takes the library's place: a small library of the same name, which serves no calls. While it is there the server refuses every load
// that does not replace, as those of [Ensure] and of clients are. It stays until a deploy or a rollback replaces it; FUNCTION FLUSH, FUNCTION
// DELETE and a restart without persistence remove it as they remove every library, and retiring again puts it back.
func (t *Target) Retire(ctx context.Context, p *Retirement, o RetireOptions) (*Result, error) {
	if p == nil || p.Library == "" {
		return nil, &Error{Op: "retire", Reason: ErrPlan, Text: "the plan names no library"}
	}
	if err := p.Err(); err != nil {
		return nil, err
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := s.check(ctx)
	var g *guard
	if p.Changes() {
		if g, err = s.guard(ctx, states, OpRetire, o.Lock); err != nil {
			return nil, err
		}
		defer g.release(ctx)
		states = s.check(ctx)
	}
	now, err := s.planRetire(ctx, states, p.Library)
	if err == nil {
		err = now.Err()
	}
	if err == nil {
		err = p.moved(now)
	}
	if err == nil && now.Changes() && !o.Force {
		err = now.InUse()
	}
	if err != nil {
		return nil, err
	}
	if g != nil && now.Changes() {
		if err := g.beginRetire(ctx, now, states); err != nil {
			return nil, err
		}
	}
	r := &Result{Format: ResultFormat, Op: OpRetire, Nodes: make([]NodeResult, len(s.nodes))}
	onEach(s.nodes, func(i int, n *node) {
		r.Nodes[i] = NodeResult{Node: now.Nodes[i].Node, Warnings: now.Nodes[i].Warnings}
		if n.loadable() {
			n.pin()
			defer n.unpin()
			r.Nodes[i].Steps = []StepResult{n.retire(ctx, g.on(n), states[i], now.Nodes[i], now)}
			n.barrier(ctx, &r.Nodes[i], ApplyOptions{})
		}
	})
	onEach(s.nodes, func(i int, n *node) {
		if !n.loadable() {
			n.retired(ctx, p.Library, now.Nodes[i], &r.Nodes[i])
		}
	})
	g.endRetire(ctx, now, r)
	if g != nil {
		r.Problem = g.release(ctx)
	}
	return r, r.Err()
}

// moved compares what was planned with what is there. What somebody else has removed meanwhile is no harm.
func (r *Retirement) moved(now *Retirement) error {
	for _, n := range now.Nodes {
		i := slices.IndexFunc(r.Nodes, func(was NodeRetirement) bool { return was.Addr == n.Addr })
		if n.Action != RetireDelete || i >= 0 && r.Nodes[i].Digest == n.Digest {
			continue
		}
		return &Error{
			Op: "retire", Library: r.Library, Node: n.Addr, Reason: ErrMoved,
			Text: fmt.Sprintf("it holds %s (digest %.12s) now, which the plan has not seen; nothing was deleted; plan again", n.Version, n.Digest),
		}
	}
	return nil
}

// retired reads a replica back, when its primary is done.
func (n *node) retired(ctx context.Context, serverName string, p NodeRetirement, r *NodeResult) {
	step := StepResult{Library: serverName, From: p.Version, Outcome: Followed}
	if p.Action == RetireAbsent {
		step.Outcome = Absent
	}
	loaded, problem := n.look(ctx, "retire")
	switch {
	case problem != nil:
		step.Outcome = Unverified
		r.Warnings = append(r.Warnings, Warning{Code: "replica_unread", Text: "it can not be told whether this replica still has it: " + problem.Text})
	case held(NodeState{Libraries: loaded}, serverName) != nil:
		step.Outcome, step.Found = Unverified, p.Version
		r.Warnings = append(r.Warnings, Warning{Code: "replica_behind", Text: "this replica still has it; what its primary has not deleted, or not replicated yet, stays"})
	}
	r.Steps = []StepResult{step}
}

func (n *node) retire(ctx context.Context, l *lock, state NodeState, p NodeRetirement, all *Retirement) StepResult {
	r := StepResult{Library: all.Library, From: p.Version, Outcome: Absent}
	if !p.changes() {
		return r
	}
	if ctx.Err() != nil {
		r.Outcome, r.Problem = NotStarted, interrupted(ctx, "retire", all.Library, n.Addr)
		return r
	}
	begun, cancel := lasting(ctx)
	defer cancel()
	step := n.load(begun, l, all.tombstone, compare(all.tombstone, state.Libraries))
	switch {
	case step.Problem != nil:
		r.Outcome, r.Found, r.Problem = Failed, step.Found, step.Problem.at("retire", all.Library)
	case p.Action == RetireDelete:
		r.Outcome = Deleted
	}
	return r
}

// beginRetire writes down what is about to be deleted, with its source.
func (g *guard) beginRetire(ctx context.Context, p *Retirement, states []NodeState) error {
	now, err := g.book.now(ctx)
	if err != nil {
		return err
	}
	g.event.At = now
	recorded, err := g.book.known(ctx)
	if err != nil {
		return err
	}
	for i, n := range p.Nodes {
		if !n.changes() {
			continue
		}
		g.changes = append(g.changes, nodeChange{n.Addr, EventChange{Library: p.Library, From: n.Version}})
		if found := held(states[i], p.Library); found != nil {
			if err := g.keepFound(ctx, recorded, *found, now); err != nil {
				return err
			}
		}
	}
	for i, c := range p.Clients {
		if i == keptForced {
			g.event.Forced = append(g.event.Forced, fmt.Sprintf("and %d more", len(p.Clients)-i))
			break
		}
		g.event.Forced = append(g.event.Forced, shorten(c.Instance, 60)+" ("+c.Version+")")
	}
	return g.book.event(ctx, g.event)
}

func (g *guard) endRetire(ctx context.Context, p *Retirement, r *Result) {
	if g == nil || g.event.At.IsZero() {
		return
	}
	g.atEnd(ctx, r, func(ctx context.Context, now time.Time) error {
		if r.Err() == nil {
			var digests []string
			for _, n := range p.Nodes {
				digests = append(digests, n.Digest)
			}
			if err := g.book.trim(ctx, p.Library, 1, digests); err != nil {
				return err
			}
		}
		return g.finish(ctx, r, now)
	})
}
