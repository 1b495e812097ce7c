package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// RetirementFormat is the version of a Retirement's JSON.
const RetirementFormat = 1

// A Retirement is what it takes to remove a library from every node, and who would notice.
type Retirement struct {
	Format  int              `json:"format"`
	Library string           `json:"library"` // the server name, "ratelimit_v1"
	Nodes   []NodeRetirement `json:"nodes"`
	// Clients gave a sign of using it within the last 15 minutes.
	Clients []Client `json:"clients"`
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
	RetireDelete  RetireAction = "delete"
	RetireAbsent  RetireAction = "absent"   // it is not there
	RetireForeign RetireAction = "conflict" // something else has the name; it is left alone
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
	return t.planRetire(ctx, s.check(ctx), serverName)
}

func (t *Target) planRetire(ctx context.Context, states []NodeState, serverName string) (*Retirement, error) {
	if serverName == "" || strings.ContainsFunc(serverName, func(r rune) bool {
		return r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	}) {
		return nil, &Error{Op: "retire", Library: serverName, Reason: ErrLibrary, Text: "that is no name of a library on a server; ratelimit_v1 is one"}
	}
	r := &Retirement{Format: RetirementFormat, Library: serverName, Nodes: make([]NodeRetirement, len(states))}
	for i, state := range states {
		r.Nodes[i] = retirementOf(state, serverName)
	}
	b := book{t.caller}
	now, err := b.now(ctx)
	if err != nil {
		return nil, err
	}
	clients, err := b.clients(ctx, now.Add(-inUse))
	if err != nil {
		return nil, err
	}
	r.Clients = slices.DeleteFunc(clients, func(c Client) bool { return c.Library != serverName })
	return r, nil
}

func retirementOf(state NodeState, serverName string) NodeRetirement {
	n := NodeRetirement{Node: state.Node, Action: RetireAbsent, Warnings: state.Warnings}
	i := slices.IndexFunc(state.Libraries, func(l LoadedLibrary) bool { return l.ServerName == serverName })
	if i >= 0 {
		n.Action, n.Version, n.Digest = RetireDelete, state.Libraries[i].Version, state.Libraries[i].Digest
		if !state.Libraries[i].ours() {
			n.Action = RetireForeign
		}
	}
	switch {
	case state.Follows != "":
		if n.Action == RetireDelete {
			n.Action = RetireFollow
		}
		if state.Problem != nil {
			n.Warnings = append(slices.Clone(n.Warnings), unseen(state))
		}
	case !state.Readable || n.Action == RetireDelete && state.Problem != nil:
		n.Action, n.Problem = RetireUnfit, state.Problem
	}
	return n
}

// ours tells a library that rlfunc made for the name under which it is there.
func (l LoadedLibrary) ours() bool {
	return l.Name != "" && strings.HasPrefix(l.ServerName, l.Name+"_v")
}

// Changes tells whether a node holds the library.
func (r *Retirement) Changes() bool {
	return slices.ContainsFunc(r.Nodes, func(n NodeRetirement) bool { return n.Action == RetireDelete })
}

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
// that the plan has not seen: then it is ErrMoved. The source is recorded before, so that PlanRollback with To brings it back.
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
		if g, err = t.guard(ctx, s.nodes, states, OpRetire, o.Lock); err != nil {
			return nil, err
		}
		defer g.release(ctx)
		states = s.check(ctx)
	}
	now, err := t.planRetire(ctx, states, p.Library)
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
			r.Nodes[i].Steps = []StepResult{n.retire(ctx, g.on(n), states[i], now.Nodes[i], p.Library)}
			n.barrier(ctx, &r.Nodes[i], ApplyOptions{})
		}
	})
	onEach(s.nodes, func(i int, n *node) {
		if !n.loadable() {
			n.retired(ctx, p.Library, now.Nodes[i], &r.Nodes[i])
		}
	})
	g.endRetire(ctx, r)
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

func (n *node) retire(ctx context.Context, l *lock, state NodeState, p NodeRetirement, serverName string) StepResult {
	r := StepResult{Library: serverName, From: p.Version}
	if p.Action != RetireDelete {
		r.Outcome = Absent
		return r
	}
	found := held(state, serverName)
	var err error
	if l != nil {
		err = l.remove(ctx, *found)
	} else {
		_, err = n.do(ctx, true, "FUNCTION", "DELETE", serverName)
	}
	var stopped *Error
	switch {
	case err == nil:
		r.Outcome = Deleted
	case errors.Is(err, errAlready):
		r.Outcome = Absent
	case errors.As(err, &stopped):
		r.Outcome, r.Found, r.Problem = Failed, p.Version, stopped.at("retire", serverName)
	default:
		if loaded, lookErr := n.list(ctx); lookErr == nil && held(NodeState{Libraries: loaded}, serverName) == nil {
			r.Outcome = Deleted // the reply was lost
			return r
		}
		r.Outcome, r.Problem = Failed, judge("retire", serverName, n.Addr, true, err)
		if r.Problem.Reason == ErrNoPermission {
			r.Problem.Text = oneLine(err.Error()) + "; a retire needs +function|delete"
		}
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
		if n.Action != RetireDelete {
			continue
		}
		g.event.Changes = append(g.event.Changes, EventChange{Node: n.Addr, Library: p.Library, From: n.Version})
		if err := g.keepFound(ctx, recorded, *held(states[i], p.Library), now); err != nil {
			return err
		}
	}
	for _, c := range p.Clients {
		g.event.Forced = append(g.event.Forced, c.Instance+" ("+c.Version+")")
	}
	return g.book.event(ctx, g.event)
}

func (g *guard) endRetire(ctx context.Context, r *Result) {
	if g == nil || g.event.At.IsZero() {
		return
	}
	g.atEnd(ctx, r, func(ctx context.Context, now time.Time) error { return g.finish(ctx, r, now) })
}
