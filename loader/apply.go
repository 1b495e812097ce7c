package loader

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// ApplyOptions of an Apply.
type ApplyOptions struct {
	// ReplaceDrifted replaces a library of the same version with other bytes. Defaults to refusing it.
	ReplaceDrifted bool
	// Partial loads what can be loaded although other steps of the plan are blocked. Defaults to refusing a plan that can not be done as a whole.
	Partial bool
	// ReplicaTimeout is how long to wait for the replicas to take over what was loaded. Defaults to 5 seconds.
	ReplicaTimeout time.Duration
	// OnNode is called with each node's result when the node is done, with one at a time: primaries first, then replicas. Defaults to nothing.
	OnNode func(NodeResult)
	// Lock says who deploys, and how long another deployer is waited for.
	Lock LockOptions
	// Stateless takes no lock and writes no records: for a user who may run nothing but FUNCTION, and for servers without
	// transactions. Two such deployers at once are not kept apart, and a rollback needs the older source. Defaults to both.
	Stateless bool
}

// Apply does what the plan says: it loads what is absent, replaces lower versions, and reads every library back.
//
// It first looks again. A node that does not hold any more what the plan found there refuses the whole plan with ErrMoved, except
// where it holds the planned bytes already; nothing has been loaded then, and the Result is nil, as after every other refusal of the
// whole plan. Otherwise the Result tells about each node and library, and the error is [Result.Err]: a failure on one node does
// not keep the others from their end. Primaries are loaded all at once; then it waits for the replicas and reads them too. A replica that
// does not answer or is behind is a warning in its NodeResult.
//
// A plan that has something to do takes a lock on the target and one on every primary. Another deployer waits for them, or gets ErrLocked; they
// expire 30 seconds after the death of their owner. It writes down what it replaces and what it loads, with the source, and the outcome
// ([Target.Releases], [Target.History]). Each library is loaded in a transaction that only happens while the lock is held and the node holds what was
// planned: a process that stood still until its lock expired gets ErrLockLost, and has loaded nothing. What another tool, which takes no
// lock, has put there in the same moment is put back, with ErrMoved. A lock that was lost meanwhile is an error, also if all is loaded.
//
// When ctx ends, no further load begins, a load under way has two seconds to end, and the Result says what was loaded; the steps that were not
// tried are ErrInterrupted. To finish an interrupted deploy, run it again.
func (t *Target) Apply(ctx context.Context, p *Plan, o ApplyOptions) (*Result, error) {
	if p == nil || len(p.libs) == 0 {
		return nil, &Error{Op: "apply", Reason: ErrPlan, Text: "the plan has no libraries; a saved plan is read with ReadPlan"}
	}
	if err := blockers(p, o); err != nil {
		return nil, err
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	states := s.check(ctx)
	now := planFor(states, p.libs, p.op())
	if err := moved(p, now, o); err != nil {
		return nil, err
	}
	var g *guard
	if !o.Stateless && o.busy(now) {
		if g, err = s.guard(ctx, states, p.op(), o.Lock); err != nil {
			return nil, err
		}
		defer g.release(ctx)
		// What another deployer has done meanwhile shows now.
		states = s.check(ctx)
		now = planFor(states, p.libs, p.op())
		if err := moved(p, now, o); err != nil {
			return nil, err
		}
		if o.busy(now) {
			if err := g.begin(ctx, now, states, o); err != nil {
				return nil, err
			}
		}
	}
	r := &Result{Format: ResultFormat, Op: p.op(), Nodes: make([]NodeResult, len(s.nodes))}
	var said sync.Mutex
	done := func(i int, n NodeResult) {
		r.Nodes[i] = n
		if o.OnNode != nil {
			said.Lock()
			defer said.Unlock()
			o.OnNode(n)
		}
	}
	onEach(s.nodes, func(i int, n *node) {
		if n.loadable() {
			done(i, n.apply(ctx, p.libs, states[i], now.Nodes[i], o, g.on(n)))
		}
	})
	s.follow(ctx, p.libs, states, r, o, done)
	g.end(ctx, now, r)
	if g != nil {
		r.Problem = g.release(ctx)
	}
	return r, r.Err()
}

// busy tells whether the plan has something to do.
func (o ApplyOptions) busy(p *Plan) bool {
	return slices.ContainsFunc(p.Nodes, func(n NodePlan) bool { return slices.ContainsFunc(n.Steps, o.wants) })
}

// wants tells whether the step puts a library on the node.
func (o ApplyOptions) wants(s Step) bool {
	return s.Action.Changes() || s.Action == Drift && o.ReplaceDrifted
}

// blockers refuses a plan that can not be done as a whole.
func blockers(p *Plan, o ApplyOptions) error {
	if o.Partial {
		return nil
	}
	var first *Error
	more := 0
	for _, n := range p.Nodes {
		for _, s := range n.Steps {
			if !s.Action.Blocks() || o.wants(s) {
				continue
			}
			if first == nil {
				first = blocked(n, s)
			} else {
				more++
			}
		}
	}
	if first == nil {
		return nil
	}
	if more > 0 {
		first.Text += "; and more steps of the plan are blocked"
	}
	return first
}

// blocked is the error of a step that can not be done.
func blocked(n NodePlan, s Step) *Error {
	switch s.Action {
	case Drift:
		return &Error{
			Op: "load", Library: s.Library, Node: n.Addr, Reason: ErrDrifted,
			Text: s.Reason,
		}
	case Collide:
		return &Error{
			Op: "load", Library: s.Library, Node: n.Addr, Reason: ErrConflict,
			Text: s.Reason + "; delete that library or rename this one",
		}
	}
	if n.Problem == nil { // a plan that somebody wrote by hand
		return &Error{Op: "load", Library: s.Library, Node: n.Addr, Reason: ErrPlan, Text: "the plan does not say why the node is unfit"}
	}
	return n.Problem.at("load", s.Library)
}

// moved compares what was planned with what would be planned now.
func moved(p, now *Plan, o ApplyOptions) error {
	refuse := func(why string) error {
		return &Error{Op: "apply", Reason: ErrMoved, Text: why + "; nothing was loaded; plan again"}
	}
	addrs := func(p *Plan) string {
		var all []string
		for _, n := range p.Nodes {
			if n.Follows == "" {
				all = append(all, n.Addr)
			}
		}
		slices.Sort(all)
		return strings.Join(all, ", ")
	}
	if was, is := addrs(p), addrs(now); was != is {
		return refuse("the plan is for " + was + ", and the target is " + is)
	}
	var changes []string
	for _, n := range now.Nodes {
		if n.Follows != "" {
			continue // replicas come and go, and hold what their primaries do
		}
		i := slices.IndexFunc(p.Nodes, func(was NodePlan) bool { return was.Addr == n.Addr })
		was := p.Nodes[i]
		if n.Problem != nil && was.Problem == nil && !o.Partial {
			return n.Problem.at("apply", "")
		}
		for j, s := range n.Steps {
			old := was.Steps[j]
			if s.Action == Keep || s.Action == old.Action && s.FromDigest == old.FromDigest || s.Action == Unfit && o.Partial {
				continue
			}
			changes = append(changes, s.Library+" on "+n.Addr+" was planned as "+old.String()+" and is now "+s.String())
		}
	}
	if len(changes) > 0 {
		return refuse(strings.Join(changes, ", "))
	}
	return nil
}

func (n *node) apply(ctx context.Context, libs []*fcall.Library, state NodeState, plan NodePlan, o ApplyOptions, l *lock) NodeResult {
	r := NodeResult{Node: state.Node}
	n.pin()
	defer n.unpin()
	var stop *Error
	begun, cancel := lasting(ctx)
	defer cancel()
	for i, s := range plan.Steps {
		step := StepResult{Library: s.Library, From: s.From, Found: s.From}
		switch {
		case s.Action == Keep:
			step.Outcome = Already
		case s.Action == KeepNewer:
			step.Outcome = LeftNewer
		case !o.wants(s):
			step.Outcome, step.Problem = NotStarted, blocked(plan, s)
		case ctx.Err() != nil:
			step.Outcome, step.Problem = NotStarted, interrupted(ctx, "load", s.Library, n.Addr)
		case stop != nil:
			step.Outcome, step.Problem = NotStarted, stop.at("load", s.Library)
		default:
			step = n.load(begun, l, libs[i], compare(libs[i], state.Libraries))
			if step.Problem != nil && !step.Problem.answered() {
				stop = &Error{
					Node: n.Addr, Reason: ErrUnreachable, Cause: step.Problem,
					Text: "not tried, because the node gave no answer to the load of " + s.Library,
				}
			}
		}
		r.Steps = append(r.Steps, step)
	}
	n.barrier(ctx, &r, o)
	return r
}
