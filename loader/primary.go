package loader

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// apply executes the steps of one primary, and waits until its replicas have confirmed them.
func (n *node) apply(ctx context.Context, g *operation, r NodeSteps, o ApplyOptions) NodeSteps {
	c := &change{node: n, operation: g, options: o, steps: slices.Clone(r.Steps)}
	for i := range c.steps {
		s := &c.steps[i]
		s.Outcome, s.Found = Skipped, s.From
		switch {
		case s.Blocks() && !o.wants(*s):
		case ctx.Err() == nil:
			c.todo = append(c.todo, i)
		case o.wants(*s):
			s.Problem = &Error{
				Op: string(g.plan.Op), Library: s.Library, Node: n.Addr, Reason: ErrInterrupted, Cause: ctx.Err(), Text: "not tried: " + plainText(ctx.Err()),
			}
		}
	}
	refusesLoads := r.Problem != nil // and needs none
	r.Steps, r.Warnings = c.steps, nil
	if !g.begun() || len(c.todo) == 0 || refusesLoads {
		return r
	}
	ctx = context.WithoutCancel(ctx) // what has begun is finished
	err := c.visit(ctx)
	for try := 0; try < 20 && (errors.Is(err, redis.TxFailedErr) || elsewhere(err)); try++ {
		err = c.visit(ctx)
	}
	if errors.Is(err, redis.TxFailedErr) || elsewhere(err) {
		err = &Error{Reason: ErrChanged, Text: "others change this node all the time; plan again"}
	}
	if err != nil {
		c.fail(err)
	}
	r.Problem = c.unconfirmed
	return r
}

// A change is what an operation does on one primary.
type change struct {
	*node
	operation   *operation
	options     ApplyOptions
	steps       []Step
	todo        []int  // the steps that are neither blocked nor done
	unconfirmed *Error // by the replicas
}

// fail ends the steps that are to be done.
func (c *change) fail(err error) {
	e := recordError(err)
	for _, i := range c.todo {
		s, once := &c.steps[i], *e
		once.Op, once.Library, once.Node = string(c.operation.plan.Op), s.Library, c.Addr
		s.Outcome, s.Problem = Failed, &once
	}
}

// visit changes the primary in one transaction. The error is redis.TxFailedErr if somebody else changed it meanwhile.
func (c *change) visit(ctx context.Context) error {
	var watched []string
	key, err := c.revision(ctx)
	if err != nil {
		return err
	}
	if key != "" {
		watched = append(watched, key)
	}
	return c.client.Watch(ctx, func(tx *redis.Tx) error {
		current, err := c.operation.records.current(ctx)
		if err != nil {
			return err
		}
		loaded, err := list(ctx, c.client)
		if err != nil {
			return err
		}
		var commands [][]any
		var sent []int
		for _, i := range c.todo {
			if command := c.decide(i, current, loaded); command != nil {
				commands, sent = append(commands, command), append(sent, i)
			}
		}
		replies, err := tx.TxPipelined(ctx, func(p redis.Pipeliner) error {
			for _, command := range append(slices.Clone(commands), listLibraries) {
				p.Do(ctx, command...)
			}
			if key != "" {
				p.Incr(ctx, key)
			}
			return nil
		})
		var lookErr error
		var refusal redis.Error
		switch after := replies[len(commands)].(*redis.Cmd); {
		case after.Err() == nil:
			loaded, lookErr = readLibraries(after.Val())
		case errors.As(after.Err(), &refusal): // nothing ran
			c.todo = sent
			for _, r := range replies {
				if r.Err() != nil && !redis.IsExecAbortError(r.Err()) {
					return r.Err()
				}
			}
			return err
		default:
			loaded, lookErr = list(ctx, c.client)
		}
		c.todo = nil
		for k, i := range sent {
			if c.steps[i].settle(c.operation.plan.Op, c.Addr, c.operation.plan.libs[i], replies[k].Err(), loaded, lookErr) {
				c.todo = append(c.todo, i)
			}
		}
		if len(c.todo) > 0 {
			return redis.TxFailedErr
		}
		c.unconfirmed = c.await(ctx, tx)
		return nil
	}, watched...)
}

// await waits until the primary's replicas have confirmed what the connection has changed, and returns an ErrReplication if they have not.
func (c *change) await(ctx context.Context, tx *redis.Tx) *Error {
	if c.answer == nil || len(c.answer.replicas) == 0 || (NodeSteps{Steps: c.steps}).changed() == 0 {
		return nil
	}
	e := &Error{Op: "wait for the replicas", Node: c.Addr, Reason: ErrReplication}
	want := len(c.answer.replicas)
	got, err := tx.Wait(ctx, want, replicaTimeout).Result()
	switch {
	case err != nil:
		e.Cause, e.Text = err, "replication is not confirmed: "+classify("", "", "", false, err).Text
	case int(got) < want:
		e.Text = fmt.Sprintf("%d of %d replicas confirmed the load within %s; a failover to another replica would lose it", got, want, replicaTimeout)
	default:
		return nil
	}
	return e
}

// decide sets what a step is now, and returns the command for it, or nil.
func (c *change) decide(i int, current map[string]decision, loaded []LoadedLibrary) (command []any) {
	p, s := c.operation.plan, &c.steps[i]
	lib, was := p.libs[i], *s
	refuse := func(why string) []any {
		s.Outcome, s.Problem = Failed, &Error{Op: string(p.Op), Library: lib.ServerName, Node: c.Addr, Reason: ErrChanged, Text: why + "; plan again"}
		return nil
	}
	switch d := current[lib.ServerName]; {
	case d.ID == "":
		return refuse("the records of this operation are gone, which did nothing more here")
	case d.Digest != digest(lib):
		return refuse(d.String() + ", has taken the place of this one, which did nothing more here")
	}
	*s = stepFor(NodeState{Node: c.Node, Readable: true, Libraries: loaded}, lib, p.Op)
	wanted := c.options.wants(*s)
	if s.Blocks() && !wanted {
		return refuse("another tool changed it meanwhile (it was " + describe(was) + " and is " + describe(*s) + "), and it was not replaced")
	}
	s.Outcome, s.Found, s.Problem = Skipped, s.From, nil
	switch {
	case !wanted:
		return nil
	case s.Action == Delete:
		return []any{"FUNCTION", "DELETE", lib.ServerName}
	case s.Action == Load: // the server refuses it if somebody else was faster
		return []any{"FUNCTION", "LOAD", lib.Code}
	}
	return []any{"FUNCTION", "LOAD", "REPLACE", lib.Code}
}

// elsewhere reports whether a key of the node's is, or moves, to another one: its slots have moved. A transaction is then discarded.
func elsewhere(err error) bool {
	var reply redis.Error
	if !errors.As(err, &reply) {
		return false
	}
	code, _, _ := strings.Cut(reply.Error(), " ")
	return slices.Contains([]string{"MOVED", "ASK", "TRYAGAIN", "EXECABORT"}, code)
}

// settle sets what came of a step whose command was answered with err, after which the node held loaded, or could not be read. It reports
// whether to try again, because the node had changed before the command.
func (s *Step) settle(op Op, addr string, lib *fcall.Library, err error, loaded []LoadedLibrary, lookErr error) (again bool) {
	after, refused := compare(lib, loaded), isReply(err)
	if lookErr == nil && (after.State == Same || lib.Code == "" && after.State == Missing) {
		s.Found, s.Outcome = after.From, Done // also if the reply was lost
		if refused {
			s.State, s.Action, s.Outcome = Same, "", Skipped // somebody else was faster
		}
		return false
	}
	e := &Error{Op: string(op), Library: lib.ServerName, Node: addr, Reason: ErrOutcomeUnknown, Cause: err}
	s.Outcome, s.Problem = Failed, e
	what := "the server did it"
	if err != nil {
		*e = *classify(string(op), lib.ServerName, addr, true, err)
		what = "the connection broke during the load (" + plainText(err) + ")"
	}
	switch {
	case e.Reason == ErrRejected && lookErr == nil && after.FromDigest != s.FromDigest:
		return true
	case e.Reason == ErrRejected:
		e.reject(lib, err)
	case e.Reason != ErrOutcomeUnknown: // certainly nothing was loaded
	case lookErr != nil:
		e.Text = what + ", and the node could not be read afterwards (" + plainText(lookErr) + "); run plan, then deploy again"
	default:
		s.Found, e.Text = after.From, what+"; right after, it was "+describe(after)+"; deploy again"
	}
	return false
}
