package loader

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/lock"
)

// ApplyOptions configure an Apply. The zero value is useful.
type ApplyOptions struct {
	// ReplaceDrifted replaces a library of the same version with other bytes. Defaults to an error.
	ReplaceDrifted bool
	// Partial executes the other steps of a plan that has blocked steps. Defaults to an error for such a plan.
	Partial bool
	// ReplicaTimeout bounds the wait for the replicas to receive the load. Defaults to 5 s.
	ReplicaTimeout time.Duration
	// OnNode is called with each node's result, one at a time: primaries first, then replicas. Defaults to nothing.
	OnNode func(NodeResult)
	// Lock names the operator and bounds the wait for another deployer. Defaults to no wait.
	Lock LockOptions
	// Stateless takes no lock and writes no records: for users who may run only FUNCTION, and for servers without transactions.
	// Two such deployers at once are not kept apart, and a rollback needs the older source. Defaults to locks and records.
	Stateless bool
}

// Apply executes a plan: it loads missing libraries, replaces lower versions, and reads every library back. It is for deploys: a
// service that starts calls [Ensure]. It does not compare contracts, so a higher version may break running clients; `rlfunc deploy`
// compares first.
//
// It first checks the plan again. If a node no longer holds what the plan found, Apply returns ErrChanged, unless the node
// already holds the planned bytes. Nothing has been loaded then, and the Result is nil, as after every error about the whole
// plan. Otherwise the Result lists each node and library, and the error is [Result.Err]. If one node fails, the others still
// finish. Apply loads on all primaries concurrently, then waits for the replicas and reads them too. A replica that does not
// answer, or that lags, is a warning in its NodeResult.
//
// A plan with changes takes a lock on the target and on every primary. Another deployer waits for them or gets ErrLocked. A
// lock expires 30 s after the death of its owner. Apply records the replaced and the loaded releases, with their source, and
// the outcome ([Target.Releases], [Target.History]). It loads each library in a transaction that runs only while the lock is
// held and the node holds what was planned. A process that paused until its lock expired gets ErrLockLost, and has loaded
// nothing since. If another tool, which takes no lock, loaded a library at the same moment, Apply restores that and returns
// ErrChanged. A lost lock is an error even if every library was loaded.
//
// When ctx ends, no further load starts, a running load has 2 s to finish, and the Result lists what was loaded. Untried steps
// are ErrInterrupted. To finish an interrupted deploy, run it again.
func (t *Target) Apply(ctx context.Context, p *Plan, o ApplyOptions) (*Result, error) {
	if p == nil || len(p.libs) == 0 {
		return nil, &Error{Op: "apply", Reason: ErrPlan, Text: "the plan has no libraries; read a saved plan with ReadPlan"}
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
	var g *operation
	if !o.Stateless && o.busy(now) {
		if g, err = s.lock(ctx, states, p.op(), o.Lock); err != nil {
			return nil, err
		}
		defer g.release(ctx)
		// Another deployer may have finished meanwhile.
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
			done(i, n.apply(ctx, p.libs, states[i], now.Nodes[i], o, g.fence(n)))
		}
	})
	s.follow(ctx, p.libs, states, r, o, done)
	g.end(ctx, now, r)
	if g != nil {
		r.Problem = g.release(ctx)
	}
	return r, r.Err()
}

// busy reports whether the plan has changes.
func (o ApplyOptions) busy(p *Plan) bool {
	return slices.ContainsFunc(p.Nodes, func(n NodePlan) bool { return slices.ContainsFunc(n.Steps, o.wants) })
}

// wants reports whether the step loads a library.
func (o ApplyOptions) wants(s Step) bool {
	return s.Action.Changes() || s.Action == Drift && o.ReplaceDrifted
}

// blockers returns the error of a plan with blocked steps.
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

// blocked returns the error of a blocked step.
func blocked(n NodePlan, s Step) *Error {
	switch s.Action {
	case Drift:
		return &Error{
			Op: "load", Library: s.Library, Node: n.Addr, Reason: ErrDrifted,
			Text: s.Reason,
		}
	case Conflicting:
		return &Error{
			Op: "load", Library: s.Library, Node: n.Addr, Reason: ErrConflict,
			Text: s.Reason + "; delete that library or rename this one",
		}
	case TooOld:
		return &Error{Op: "load", Library: s.Library, Node: n.Addr, Reason: ErrTooOld, Text: s.Reason}
	}
	if n.Problem == nil { // a plan that was edited by hand
		return &Error{Op: "load", Library: s.Library, Node: n.Addr, Reason: ErrPlan, Text: "the plan gives no reason why the node is unusable"}
	}
	return n.Problem.at("load", s.Library)
}

// moved returns an error if the plan would be another one now.
func moved(p, now *Plan, o ApplyOptions) error {
	refuse := func(why string) error {
		return &Error{Op: "apply", Reason: ErrChanged, Text: why + "; nothing was loaded; plan again"}
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
		if problem := n.Blocking(); problem != nil && was.Problem == nil && !o.Partial {
			return problem.at("apply", "")
		}
		for j, s := range n.Steps {
			old := was.Steps[j]
			if s.Action == Keep || s.Action == old.Action && s.FromDigest == old.FromDigest || (s.Action == Unusable || s.Action == TooOld) && o.Partial {
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

func (n *node) apply(ctx context.Context, libs []*fcall.Library, state NodeState, plan NodePlan, o ApplyOptions, l *lock.Lock) NodeResult {
	r := NodeResult{Node: state.Node}
	n.Pin()
	defer n.Unpin()
	var stop *Error
	begun, cancel := conn.WithGrace(ctx)
	defer cancel()
	for i, s := range plan.Steps {
		step := StepResult{Library: s.Library, From: s.From, Found: s.From}
		switch {
		case s.Action == Keep:
			step.Outcome = Already
		case s.Action == KeepNewer:
			step.Outcome = KeptNewer
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
