package replay

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// A job is one line to decide.
type job struct {
	number   int64
	at       int64
	endpoint int
	subject  *tracked
	plan     *plan // nil if an override decides
	denied   bool  // by an override
	id       string
	answer   answer
}

// A judge decides jobs in their order. Engines in several goroutines share the subjects, and one engine has the global limits.
type judge struct {
	plans      *plans
	engines    []*engine // for subjects, by shard
	global     *engine   // for global limits
	sequential bool
	mine       [][]int32 // by shard, the jobs of a run
	before     []saved   // by global limit
}

// saved is the state of a global limit before a speculative run of jobs.
type saved struct {
	marks  []mark
	calls  int
	writes int
}

func newJudge(ps *plans, shards int, sequential bool) (*judge, error) {
	j := &judge{plans: ps, sequential: sequential, mine: make([][]int32, shards), before: make([]saved, len(ps.allGlobals))}
	for range shards + 1 {
		e, err := newEngine(ps.policy.Namespace)
		if err != nil {
			return nil, err
		}
		e.sequential = sequential
		j.engines = append(j.engines, e)
	}
	j.global, j.engines = j.engines[shards], j.engines[:shards]
	return j, nil
}

func (j *judge) close() {
	for _, e := range append(j.engines, j.global) {
		_ = e.server.Close() // it only frees memory
	}
}

// asked returns the number of calls of all engines.
func (j *judge) asked() int64 {
	n := j.global.asked
	for _, e := range j.engines {
		n += e.asked
	}
	return n
}

// decide decides jobs. While global limits have room for all jobs, subjects do not wait for them.
func (j *judge) decide(ctx context.Context, jobs []job) error {
	for len(jobs) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		n := 0
		if !j.sequential {
			n = j.withRoom(jobs)
		}
		if n == 0 {
			n = 1
			if err := j.one(ctx, &jobs[0]); err != nil {
				return fmt.Errorf("line %d: %w", jobs[0].number, err)
			}
		} else if err := j.run(ctx, jobs[:n]); err != nil {
			return err
		}
		jobs = jobs[n:]
	}
	return nil
}

// withRoom returns the number of first jobs that no global limit can refuse, even if subjects allow all of them.
func (j *judge) withRoom(jobs []job) int {
	for i, g := range j.plans.allGlobals {
		s := &j.before[i]
		s.marks, s.calls, s.writes = append(s.marks[:0], g.marks...), len(g.calls), g.writes
	}
	n := 0
	for ; n < len(jobs); n++ {
		if !j.hasRoom(&jobs[n]) {
			break
		}
	}
	for i, g := range j.plans.allGlobals {
		s := &j.before[i]
		g.marks = append(g.marks[:0], s.marks...)
		g.calls, g.writes = g.calls[:s.calls], s.writes
	}
	return n
}

func (j *judge) hasRoom(jb *job) bool {
	if jb.plan == nil {
		return true
	}
	globals := j.plans.globals[jb.endpoint]
	for _, g := range globals {
		if !g.certain(g.plan, jb.at) || len(g.calls)-g.sent > mostPut {
			return false
		}
	}
	for _, g := range globals {
		g.add(g.plan, jb.at, taken, false)
	}
	return true
}

// minParallel is the least number of jobs that are worth goroutines.
const minParallel = 64

// run decides jobs that only the limits of their subjects can refuse.
func (j *judge) run(ctx context.Context, jobs []job) error {
	for shard := range j.mine {
		j.mine[shard] = j.mine[shard][:0]
	}
	for i := range jobs {
		shard := jobs[i].subject.shard
		j.mine[shard] = append(j.mine[shard], int32(i))
	}
	errs := make([]error, len(j.engines))
	var wait sync.WaitGroup
	for shard := range j.engines {
		work := func() { errs[shard] = j.shard(ctx, shard, jobs) }
		if len(jobs) < minParallel {
			work()
		} else {
			wait.Go(work)
		}
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for i := range jobs {
		jb := &jobs[i]
		if jb.plan == nil || !jb.answer.allowed {
			continue
		}
		for _, g := range j.plans.globals[jb.endpoint] {
			g.add(g.plan, jb.at, taken, false)
		}
	}
	for _, g := range j.plans.allGlobals {
		g.compact(j.plans.byTrack, jobs[len(jobs)-1].at)
	}
	return nil
}

func (j *judge) shard(ctx context.Context, shard int, jobs []job) error {
	for _, i := range j.mine[shard] {
		jb := &jobs[i]
		if jb.plan == nil {
			jb.answer = overridden(jb)
			continue
		}
		var err error
		if jb.answer, err = j.engines[shard].decide(ctx, j.plans, jb.subject, jb.plan, jb.at, jb.id); err != nil {
			return fmt.Errorf("line %d: %w", jb.number, err)
		}
	}
	return nil
}

func overridden(jb *job) answer {
	if jb.denied {
		return answer{reason: ReasonDenied}
	}
	return answer{allowed: true}
}

// one decides one job with its global limits. It calls these only if the subject's limits allow, and undoes the charges if one of
// them refuses.
func (j *judge) one(ctx context.Context, jb *job) error {
	if jb.plan == nil {
		jb.answer = overridden(jb)
		return nil
	}
	own := j.engines[jb.subject.shard]
	var err error
	if jb.answer, err = own.decide(ctx, j.plans, jb.subject, jb.plan, jb.at, jb.id); err != nil || !jb.answer.allowed {
		return err
	}
	globals := j.plans.globals[jb.endpoint]
	answers := make([]answer, len(globals))
	refused := false
	for i, g := range globals {
		if answers[i], err = j.global.decide(ctx, j.plans, g, g.plan, jb.at, ""); err != nil {
			return err
		}
		refused = refused || !answers[i].allowed
	}
	if !refused {
		for i := range answers {
			jb.answer.shadows = append(jb.answer.shadows, answers[i].shadows...)
		}
		return nil
	}
	if err := own.undo(ctx, jb.subject, jb.plan, jb.id, &jb.answer); err != nil {
		return err
	}
	jb.answer = answer{reason: ReasonGlobal}
	for i, g := range globals {
		if !answers[i].allowed {
			jb.answer.meters = append(jb.answer.meters, answers[i].meters...)
		} else if err := j.global.undo(ctx, g, g.plan, "", &answers[i]); err != nil {
			return err
		}
	}
	return nil
}

// undo refunds the last call of t, or cancels it if it is deferred.
func (e *engine) undo(ctx context.Context, t *tracked, p *plan, id string, a *answer) error {
	switch {
	case a.put:
		t.calls[len(t.calls)-1].kind = undone
	case a.took != nil:
		t.writes++
		return e.refund(ctx, t, p, id, a.took)
	}
	return nil
}
