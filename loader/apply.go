package loader

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/loader/internal/conn"
)

// An Outcome says what was done: in one step, or in a whole operation.
type Outcome string

// The outcomes of a step, which is one library on one node.
const (
	Loaded         Outcome = "loaded"          // it was missing
	Upgraded       Outcome = "upgraded"        // it replaced a lower version
	Replaced       Outcome = "replaced"        // it replaced other bytes of the same version
	Already        Outcome = "same"            // the node had it, byte for byte
	KeptNewer      Outcome = "newer"           // the node has a higher version
	Downgraded     Outcome = "downgraded"      // a rollback replaced a higher version with it
	Deleted        Outcome = "deleted"         // a retire replaced it with a tombstone
	AlreadyMissing Outcome = "already_missing" // a retire found no library
	Failed         Outcome = "failed"          // Problem says why
	Followed       Outcome = "followed"        // a replica received it from its primary
	Unverified     Outcome = "unverified"      // a replica could not be read, or lags; a warning says why
	NotStarted     Outcome = "not_started"     // an earlier failure or the plan prevented it, see Problem; for a replica see its primary's step
)

// The outcomes of an operation, besides Failed: nothing was changed.
const (
	Unfinished Outcome = "unfinished" // it runs, or its process died; running it again then finishes it
	Done       Outcome = "done"
	Partly     Outcome = "partly" // some nodes were changed, others failed
)

// outcomeOf is what the actions of a plan come to if nothing fails.
var outcomeOf = map[Action]Outcome{
	Load: Loaded, Upgrade: Upgraded, Downgrade: Downgraded, Action(Drifted): Replaced, Action(Same): Already, Action(Newer): KeptNewer,
	Delete: Deleted, Bar: AlreadyMissing, Gone: AlreadyMissing,
}

func (o Outcome) changed() bool {
	return o == Loaded || o == Upgraded || o == Replaced || o == Downgraded || o == Deleted
}

// ResultFormat is the version of a Result's JSON.
const ResultFormat = 1

// A Result is the outcome of an Apply or an Ensure.
type Result struct {
	Format   int         `json:"format"`
	Op       Op          `json:"op,omitempty"`
	Warnings []Warning   `json:"warnings,omitempty"`
	Problem  *Error      `json:"problem,omitempty"` // of the whole operation: a lost lock
	Nodes    []NodeSteps `json:"nodes"`
}

// Outcomes counts the node's steps by outcome, "3 loaded, 1 same".
func (n NodeSteps) Outcomes() string {
	count := map[Outcome]int{}
	var order []Outcome
	for _, s := range n.Steps {
		if count[s.Outcome] == 0 {
			order = append(order, s.Outcome)
		}
		count[s.Outcome]++
	}
	var parts []string
	for _, o := range order {
		parts = append(parts, fmt.Sprintf("%d %s", count[o], strings.ReplaceAll(string(o), "_", " ")))
	}
	return strings.Join(parts, ", ")
}

// Err returns nil if every step succeeded, and otherwise the errors of the failed steps, joined. Steps that were not tried
// because of an interruption have one error together.
func (r *Result) Err() error {
	var problems []error
	var interrupted *Error
	steps, left := 0, 0
	for _, n := range r.Nodes {
		for _, s := range n.Steps {
			if n.Follows == "" {
				steps++
			}
			switch {
			case s.Problem == nil:
			case s.Problem.Reason == ErrInterrupted:
				interrupted, left = s.Problem, left+1
			default:
				problems = append(problems, s.Problem)
			}
		}
	}
	if interrupted != nil {
		problems = append(problems, &Error{
			Op: string(r.Op), Reason: ErrInterrupted, Cause: interrupted.Cause,
			Text: fmt.Sprintf("interrupted: %d of %d steps were not tried; run it again to finish", left, steps),
		})
	}
	if r.Problem != nil && !slices.ContainsFunc(problems, func(err error) bool { return errors.Is(err, r.Problem.Reason) }) {
		problems = append(problems, r.Problem)
	}
	if len(problems) == 1 {
		return problems[0]
	}
	return errors.Join(problems...)
}

// Changed counts the steps that loaded or removed a library.
func (r *Result) Changed() int {
	changed := 0
	for _, n := range r.Nodes {
		changed += n.changed()
	}
	return changed
}

func (n NodeSteps) changed() int {
	changed := 0
	for _, s := range n.Steps {
		if s.Outcome.changed() {
			changed++
		}
	}
	return changed
}

// ApplyOptions configure an Apply. The zero value is useful.
type ApplyOptions struct {
	// ReplaceDrifted replaces a library of the same version with other bytes. Defaults to an error.
	ReplaceDrifted bool
	// Partial executes the other steps of a plan that has blocked steps. Defaults to an error for such a plan.
	Partial bool
	// Force retires a library although it has recent clients, whose calls fail from then on. Defaults to ErrInUse.
	Force bool
	// ReplicaTimeout bounds the wait for the replicas to receive the load. Defaults to 5 s.
	ReplicaTimeout time.Duration
	// OnNode is called with each node's result, one at a time: primaries first, then replicas. Defaults to nothing.
	OnNode func(NodeSteps)
	// Lock names the operator and bounds the wait for another deployer. Defaults to no wait.
	Lock LockOptions
	// Stateless takes no lock and writes no records: for users who may run only FUNCTION, and for servers without transactions.
	// Two such deployers at once are not kept apart, and a rollback needs the older source. Defaults to locks and records.
	Stateless bool
}

// Apply executes the plan of a deploy, a rollback or a retire: it loads missing libraries, replaces those that the plan
// replaces, and reads every library back. A service that starts calls [Ensure] instead. Apply does not compare contracts, so a
// higher version may break running clients; `rlfunc deploy` compares first.
//
// A plan with changes takes a lock on the target and on every primary. Another deployer waits for them or gets ErrLocked. A lock
// expires 30 s after the death of its owner. Under the lock, Apply reads the nodes and plans again. If a node no longer holds
// what the plan found, it returns ErrChanged, unless the node already holds the planned bytes. Nothing has been loaded then, and
// the Result is nil, as after every error about the whole plan. Otherwise the Result lists each node and library, and the error
// is [Result.Err].
//
// Apply loads on all primaries concurrently, then waits for the replicas and reads them too. If one node fails, the others still
// finish. A replica that does not answer, or that lags, is a warning of its node. Each library is loaded in a transaction that
// runs only while the lock is held: a process that paused until its lock expired gets ErrLockLost, and has loaded nothing since.
// A lost lock is an error even if every library was loaded. Another tool takes no lock; what it loads in the moment between
// Apply's last look and its load is replaced.
//
// Apply records the replaced and the loaded releases, with their source, and the outcome ([Target.Releases], [Target.History]).
//
// When ctx ends, no further load starts, a running load has 2 s to finish, and the Result lists what was loaded. Untried steps
// are ErrInterrupted. To finish an interrupted deploy, run it again.
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
	if err := p.rejectOtherNodes(s); err != nil {
		return nil, err
	}
	var g *operation
	if !o.Stateless && p.has(o.wants) {
		if g, err = s.lock(ctx, p.Op, p.untouched(o), o.Lock); err != nil {
			return nil, err
		}
		defer g.release(ctx)
	}
	now, err := s.planAgain(ctx, p, o)
	if err != nil {
		return nil, err
	}
	if g != nil && now.has(o.wants) {
		if err := g.begin(ctx, now, o); err != nil {
			return nil, err
		}
	}
	r := s.run(ctx, now, o)
	if g != nil {
		g.end(ctx, now, r)
		r.Problem = g.release(ctx)
	}
	return r, r.Err()
}

// wants reports whether the step loads a library.
func (o ApplyOptions) wants(s Step) bool {
	return s.Changes() || s.Action == Action(Drifted) && o.ReplaceDrifted
}

// Err returns why the plan cannot be applied without options, or nil.
func (p *Plan) Err() error { return p.blockers(ApplyOptions{}) }

// blockers returns the error of a plan with blocked steps.
func (p *Plan) blockers(o ApplyOptions) error {
	if o.Partial {
		return nil
	}
	var first *Error
	more := 0
	for _, n := range p.Nodes {
		for _, s := range n.Steps {
			if !s.Blocks() || o.wants(s) {
				continue
			}
			if first == nil {
				first = p.blocked(n, s)
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

// verb is what the plan does to a library, for errors.
func (p *Plan) verb() string {
	if p.Op == OpRetire {
		return "retire"
	}
	return "load"
}

// blocked returns the error of a blocked step.
func (p *Plan) blocked(n NodeSteps, s Step) *Error {
	e := &Error{Op: p.verb(), Library: s.Library, Node: n.Addr, Text: s.Reason}
	switch {
	case s.State == Drifted:
		e.Reason = ErrDrifted
	case s.State == TooOld:
		e.Reason = ErrTooOld
	case s.State == Foreign && p.Op == OpRetire:
		e.Reason = ErrConflict
	case s.State == Foreign || s.State == Conflicting:
		e.Reason, e.Text = ErrConflict, s.Reason+"; delete that library or rename this one"
	case n.Problem == nil: // a plan that was edited by hand
		e.Reason, e.Text = ErrPlan, "the plan gives no reason why the node is unusable"
	default:
		return n.Problem.at(p.verb(), s.Library)
	}
	return e
}

// untouched returns the addresses of the nodes that refuse loads, where the plan loads nothing.
func (p *Plan) untouched(o ApplyOptions) map[string]bool {
	untouched := map[string]bool{}
	for _, n := range p.Nodes {
		untouched[n.Addr] = n.Problem != nil && !slices.ContainsFunc(n.Steps, o.wants)
	}
	return untouched
}

// changed returns the error of a plan that does not fit any more.
func (p *Plan) changed(why string) error {
	done := "loaded"
	if p.Op == OpRetire {
		done = "deleted"
	}
	return &Error{Op: "apply", Reason: ErrChanged, Text: why + "; nothing was " + done + "; plan again"}
}

// rejectOtherNodes returns an error if the plan is for other primaries. Replicas come and go, and hold what their primaries do.
func (p *Plan) rejectOtherNodes(s *session) error {
	var was, is []string
	for _, n := range p.Nodes {
		if n.Follows == "" {
			was = append(was, n.Addr)
		}
	}
	for _, n := range s.nodes {
		if n.loadable() {
			is = append(is, n.Addr)
		}
	}
	slices.Sort(was)
	slices.Sort(is)
	if !slices.Equal(was, is) {
		return p.changed("the plan is for " + strings.Join(was, ", ") + ", and the target is " + strings.Join(is, ", "))
	}
	return nil
}

// planAgain reads the nodes and returns the plan of now, or an error if it is another one.
func (s *session) planAgain(ctx context.Context, p *Plan, o ApplyOptions) (*Plan, error) {
	now := planFor(s.check(ctx), p.libs, p.Op)
	var changes []string
	for _, n := range now.Nodes {
		i := slices.IndexFunc(p.Nodes, func(was NodeSteps) bool { return was.Addr == n.Addr })
		if n.Follows != "" || i < 0 {
			continue
		}
		was := p.Nodes[i]
		if problem := n.Blocking(); problem != nil && was.Problem == nil && !o.Partial {
			return nil, problem.at("apply", "")
		}
		for j, step := range n.Steps {
			old := was.Steps[j]
			done := step.State == Same || p.Op == OpRetire && (step.State == Missing || step.State == Retired)
			same := step.Action == old.Action && step.FromDigest == old.FromDigest
			if !done && !same && !(o.Partial && (step.State == Unusable || step.State == TooOld)) {
				changes = append(changes, step.Library+" on "+n.Addr+" was planned as "+old.String()+" and is now "+step.String())
			}
		}
	}
	if len(changes) > 0 {
		return nil, p.changed(strings.Join(changes, ", "))
	}
	if p.Op == OpRetire {
		if err := s.records.readClients(ctx, now); err != nil {
			return nil, err
		}
		if err := now.InUse(); err != nil && !o.Force && now.Changes() {
			return nil, err
		}
	}
	return now, nil
}

// run executes the plan: first on all primaries, then it reads the replicas.
func (s *session) run(ctx context.Context, p *Plan, o ApplyOptions) *Result {
	r := &Result{Format: ResultFormat, Op: p.Op, Nodes: make([]NodeSteps, len(s.nodes))}
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
			done(i, n.apply(ctx, p, p.Nodes[i], o))
		}
	})
	primaries := map[string]NodeSteps{}
	for _, n := range r.Nodes {
		primaries[n.Addr] = n
	}
	onEach(s.nodes, func(i int, n *node) {
		if !n.loadable() {
			done(i, n.follow(ctx, p, p.Nodes[i], primaries[n.Follows], o))
		}
	})
	return r
}

// apply executes the steps of one primary, and waits until its replicas have confirmed them.
func (n *node) apply(ctx context.Context, p *Plan, r NodeSteps, o ApplyOptions) NodeSteps {
	n.Pin()
	defer n.Unpin()
	var stop *Error
	begun, cancel := conn.WithGrace(ctx)
	defer cancel()
	steps := slices.Clone(r.Steps)
	for i := range steps {
		s := &steps[i]
		s.Found = s.From
		switch {
		case s.Blocks() && !o.wants(*s):
			s.Outcome, s.Problem = NotStarted, p.blocked(r, *s)
		case !o.wants(*s):
			s.Outcome = outcomeOf[s.Action]
		case ctx.Err() != nil:
			s.Outcome, s.Problem = NotStarted, interrupted(ctx, p.verb(), s.Library, n.Addr)
		case stop != nil:
			s.Outcome, s.Problem = NotStarted, stop.at(p.verb(), s.Library)
		default:
			n.load(begun, p.libs[i], s)
			if p.Op == OpRetire && s.Problem == nil {
				s.Found = "" // a tombstone
			}
			if s.Problem != nil {
				s.Problem = s.Problem.at(p.verb(), s.Library)
			}
			if s.Problem != nil && !s.Problem.answered() {
				stop = &Error{
					Node: n.Addr, Reason: ErrUnreachable, Cause: s.Problem,
					Text: "not tried, because the node gave no answer to the load of " + s.Library,
				}
			}
		}
	}
	r.Warnings, r.Steps = nil, steps
	n.barrier(ctx, &r, o)
	return r
}

const defaultReplicaTimeout = 5 * time.Second

func (o ApplyOptions) replicaTimeout() time.Duration {
	if o.ReplicaTimeout > 0 {
		return o.ReplicaTimeout
	}
	return defaultReplicaTimeout
}

// barrier waits until the primary's replicas have confirmed the load.
func (n *node) barrier(ctx context.Context, r *NodeSteps, o ApplyOptions) {
	if !n.Pinned() || n.answer == nil || len(n.answer.replicas) == 0 || r.changed() == 0 {
		return
	}
	want := len(n.answer.replicas)
	got, err := n.Wait(ctx, want, o.replicaTimeout())
	switch {
	case err != nil:
		r.Warnings = append(r.Warnings, warning("wait", "replication is not confirmed: "+classify("", "", "", false, err).Text, ""))
	case int(got) < want:
		r.Warnings = append(r.Warnings, warning("wait",
			fmt.Sprintf("%d of %d replicas confirmed the load within %s; a failover to another replica would lose it", got, want, o.replicaTimeout()), ""))
	}
}

// unseen returns the warning about a replica that could not be read. It does not block a deploy.
func unseen(primary string, problem *Error) Warning {
	return warning("replica_unread", "this replica of "+primary+" cannot be read: "+problem.Text, "")
}

const replicaInterval = 20 * time.Millisecond

// follow reads a replica until it holds what its primary holds, or the time for that is over.
func (n *node) follow(ctx context.Context, p *Plan, r NodeSteps, primary NodeSteps, o ApplyOptions) NodeSteps {
	planned := r.Steps
	deadline := time.Now().Add(o.replicaTimeout())
	if n.problem != nil || n.answer != nil && n.answer.err != nil {
		deadline = time.Now() // it was unreachable a moment ago
	}
	for {
		loaded, problem := n.look(ctx, "verify")
		r.Steps, r.Warnings = slices.Clone(planned), nil
		if problem != nil {
			r.Warnings = []Warning{unseen(n.Follows, problem)}
		}
		behind := problem != nil
		for i, lib := range p.libs {
			s := &r.Steps[i]
			s.Outcome = Unverified
			if problem == nil {
				n.followed(p, s, compare(lib, loaded), primary, i)
			}
			behind = behind || s.Problem != nil
		}
		if !behind || !time.Now().Before(deadline) {
			return r
		}
		select {
		case <-ctx.Done():
			return r
		case <-time.After(replicaInterval):
		}
	}
}

// followed sets what came of a step on a replica, which holds what was found. i is the step's index on the primary.
func (n *node) followed(p *Plan, s *Step, found Step, primary NodeSteps, i int) {
	retired := p.Op == OpRetire && (found.State == Same || found.State == Retired)
	s.Found = found.From
	switch {
	case retired:
		s.Found, s.Outcome = "", Followed
		if s.From == "" {
			s.Outcome = AlreadyMissing
		}
	case found.State == Same && s.State == Same:
		s.Outcome = Already
	case found.State == Same:
		s.Outcome = Followed
	case i >= len(primary.Steps) || primary.Steps[i].Problem != nil:
		s.Outcome = NotStarted
	case primary.Steps[i].Outcome == KeptNewer && found.From == primary.Steps[i].Found:
		s.Outcome = KeptNewer
	case p.Op == OpRetire && found.State == Missing && primary.Steps[i].Action == Gone:
		s.Outcome = AlreadyMissing
	default:
		s.Outcome = Failed
		there, here := primary.Steps[i].Found, describe(found)
		if p.Op == OpRetire {
			there, here = "the tombstone", cmp.Or(found.From, here)
		}
		s.Problem = &Error{
			Op: "verify", Library: s.Library, Node: n.Addr, Reason: ErrReplication,
			Text: "its primary " + n.Follows + " holds " + there + ", and this replica holds " + here + "; see INFO replication on both",
		}
	}
}
