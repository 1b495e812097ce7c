package loader

import (
	"context"
	"slices"
	"strings"
	"sync"
)

// ApplyOptions configure an Apply. The zero value is useful.
type ApplyOptions struct {
	// By names the operator in the records: a person, or the URL of a pipeline's run, at most 200 bytes. Defaults to "unknown".
	By string
	// ReplaceDrifted replaces a library of the same version with other bytes. Defaults to an error.
	ReplaceDrifted bool
	// Partial executes the other steps of a plan that has blocked steps. Defaults to an error for such a plan.
	Partial bool
	// Force retires a library although it has clients, whose calls fail from then on. Defaults to ErrInUse.
	Force bool
	// OnNode is called with each node's result, one at a time: primaries first, then replicas. Defaults to nothing.
	OnNode func(NodeSteps)
}

// Apply executes the plan of a deploy, a rollback or a retire: it loads missing libraries, replaces those that the plan
// replaces, and reads every library back. A service that starts calls [Ensure] instead. Apply does not compare contracts, so a
// higher version may break running clients; `rlfunc deploy` compares first.
//
// Apply first reads the nodes again. If a node no longer holds what the plan found, or another operation on one of the libraries has begun
// since, it returns ErrChanged, unless the node already holds the planned bytes. Nothing has been loaded then, and the Result is nil, as
// after every error about the whole plan. Otherwise the Result lists each node and library, and the error is [Result.Err].
//
// Apply changes all primaries concurrently, each in one transaction, then waits for the replicas and reads them, too; a replica that does
// not confirm is ErrReplication. If one node fails, the others still finish. Whoever plans and applies while another operation is under way
// takes its place: that one loads nothing more, and its steps are ErrChanged. A deploy does not take the place of one of a higher version;
// its error is ErrUnfinished. What another tool loads in the moment between Apply's last look and its load is replaced.
//
// Apply records the replaced and the loaded releases, with their source, and the outcome ([Target.Releases], [Target.History]).
//
// When ctx ends, no further node is begun, a running load ends by the client's timeouts, and the Result lists what was loaded. Untried
// steps are ErrInterrupted. To finish an interrupted deploy, run it again.
func (t *Target) Apply(ctx context.Context, p *Plan, o ApplyOptions) (*Result, error) {
	if p == nil || len(p.libs) == 0 {
		return nil, &Error{Op: "apply", Reason: ErrPlan, Text: "the plan has no libraries; read a saved plan with ReadPlan"}
	}
	if err := p.blockers(o); err != nil {
		return nil, err
	}
	s, err := t.open(ctx, true)
	if err != nil {
		return nil, err
	}
	defer s.close()
	g, err := s.begin(ctx, p, o)
	if err != nil {
		return nil, err
	}
	r := s.run(ctx, g, o)
	g.end(ctx, r)
	return r, r.Err()
}

// wants reports whether the step loads or removes a library.
func (o ApplyOptions) wants(s Step) bool {
	return s.Changes() || s.State == Drifted && s.Action == "" && o.ReplaceDrifted
}

// Err returns why the plan cannot be applied without options, or nil.
func (p *Plan) Err() error { return p.blockers(ApplyOptions{}) }

// blockers returns the error of the first blocked step.
func (p *Plan) blockers(o ApplyOptions) error {
	for _, n := range p.Nodes {
		for _, s := range n.Steps {
			if s.Blocks() && !o.Partial && !o.wants(s) {
				return s.Problem
			}
		}
	}
	return nil
}

// changed returns the error of a plan that does not fit any more.
func changed(why string) error {
	return &Error{Op: "apply", Reason: ErrChanged, Text: why + "; nothing was changed; plan again"}
}

// planAgain reads the nodes and returns the plan of now, or an error if it is another one.
func (s *session) planAgain(ctx context.Context, p *Plan, o ApplyOptions) (*Plan, error) {
	now := planFor(s.check(ctx), p.libs, p.Op)
	var changes []string
	for _, n := range now.Nodes {
		if n.Follows != "" {
			continue
		}
		i := slices.IndexFunc(p.Nodes, func(was NodeSteps) bool { return was.Addr == n.Addr && was.Follows == "" })
		if i < 0 {
			return nil, changed(n.Addr + " was no primary of this target when the plan was made")
		}
		was := p.Nodes[i]
		if problem := n.Blocking(); problem != nil && was.Problem == nil && !o.Partial {
			return nil, problem
		}
		for j, step := range n.Steps {
			old := was.Steps[j]
			done := step.State == Same || p.Op == OpRetire && step.State == Missing
			same := step.State == old.State && step.FromDigest == old.FromDigest
			if !done && !same && !(o.Partial && step.State == Unusable) {
				changes = append(changes, step.Library+" on "+n.Addr+" was planned as "+old.String()+" and is now "+step.String())
			}
		}
	}
	if len(changes) > 0 {
		return nil, changed(strings.Join(changes, ", "))
	}
	if err := now.blockers(o); err != nil { // of a plan that was edited by hand
		return nil, err
	}
	if p.Op == OpRetire {
		s.findUsers(ctx, now)
		if err := now.InUse(); err != nil && !o.Force && now.Changes() {
			return nil, err
		}
	}
	return now, nil
}

// run executes the plan: first on all primaries, then it reads the replicas.
func (s *session) run(ctx context.Context, g *operation, o ApplyOptions) *Result {
	r := &Result{Op: g.plan.Op, Nodes: make([]NodeSteps, len(s.nodes))}
	var said sync.Mutex
	done := func(i int, n NodeSteps) {
		r.Nodes[i] = n
		if o.OnNode != nil {
			said.Lock()
			defer said.Unlock()
			o.OnNode(n)
		}
	}
	onEach(s.nodes, func(i int, n *node) {
		if n.loadable() {
			done(i, n.apply(ctx, g, g.plan.Nodes[i], o))
		}
	})
	primaries := map[string]NodeSteps{}
	for _, n := range r.Nodes {
		primaries[n.Addr] = n
	}
	onEach(s.nodes, func(i int, n *node) {
		if !n.loadable() {
			done(i, n.follow(ctx, g.plan, g.plan.Nodes[i], primaries[n.Follows]))
		}
	})
	return r
}
