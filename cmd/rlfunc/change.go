package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/inspect"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// changeHelp is in the help of every command that changes a subject.
const changeHelp = `With a policy (--policy, or a policy.yaml or limits.yaml in the folder) the command rejects a subject that no
request can have, for example one of an unknown identity. With --namespace alone it cannot check that.

It shows the current state and asks for confirmation; without a terminal it needs --yes. The change is recorded
first, in the stream <namespace>:{history}:changes (see ` + "`rlfunc history`" + `). If that fails, nothing is changed.`

// A change is an operator's change of a subject.
type change struct {
	command  string // for the records: "block --for 1h"
	question string // with %s for the subject
	reason   string
	by       string
	yes      bool
	// resolve returns the subject that a text names. Defaults to the subject that the guard makes of it.
	resolve func(s *service.Service, text string) (string, error)
	// state describes the subject's state in Redis. Defaults to its limits, budgets, attempts and block.
	state func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error)
	// check returns an error if the policy does not allow the change. Defaults to no check.
	check func(s *service.Service, subject string) error
	// apply makes the change and describes it.
	apply func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error)
}

// withChange adds the flags of commands that change a subject.
func (a *app) withChange(cmd *cobra.Command, c *change) *cobra.Command {
	cmd.Flags().StringVar(&c.reason, "reason", "", "reason for the records (required)")
	cmd.Flags().StringVar(&c.by, "by", "", byUsage)
	cmd.Flags().BoolVar(&c.yes, "yes", false, yesUsage)
	return a.withPolicy(cmd)
}

// errNoService reports a command without a service: no guard might use the keys of the default namespace.
var errNoService = usageErrorf("no policy: give --policy FILE, or --namespace NAME without the file")

// change confirms, records and makes a change, and records its result.
func (a *app) change(ctx context.Context, text string, c *change) error {
	if c.reason == "" {
		return usageErrorf("--reason must not be empty: give the reason for the records")
	}
	s, err := a.service()
	if err != nil {
		return err
	}
	if !s.Given {
		return errNoService
	}
	resolve, state := c.resolve, c.state
	if resolve == nil {
		resolve = (*service.Service).Subject
	}
	if state == nil {
		state = stateOf
	}
	subject, err := a.resolve(s, text, resolve)
	if err != nil {
		return err
	}
	if c.check != nil {
		if err := c.check(s, subject); err != nil {
			return err
		}
	}
	conn, err := a.connect("")
	if err != nil {
		return err
	}
	defer conn.Close()
	if conn.Embedded() {
		return errEmbedded
	}
	before, err := state(ctx, conn.Client, s.Policy, subject)
	if err != nil {
		return err
	}
	a.note("%s: %s", subject, before)
	if err := a.confirm(ctx, c.yes, fmt.Sprintf(c.question, subject)); err != nil {
		return err
	}
	log := service.ChangesIn(conn.Client, s.Namespace)
	c.by = cmp.Or(c.by, operator())
	entry := &service.Change{By: c.by, Command: c.command, Subject: subject, Reason: c.reason, Before: before}
	if err := log.Begin(ctx, entry); err != nil {
		return err
	}
	// From here an interruption neither stops the change nor its record.
	ctx = context.WithoutCancel(ctx)
	done, failure := c.apply(ctx, conn.Client, s.Policy, subject)
	entry.Result = done
	if failure != nil {
		entry.Result = "failed: " + failure.Error()
	}
	if after, err := state(ctx, conn.Client, s.Policy, subject); err == nil {
		entry.After = after
	}
	if err := log.End(ctx, entry); err != nil {
		return errors.Join(failure, err)
	}
	if failure != nil {
		return fmt.Errorf("%s %s: %w", c.command, subject, failure)
	}
	if a.json {
		return a.printJSON(map[string]any{"change": entry})
	}
	fmt.Fprintf(a.out, "%s: %s; now %s\n", subject, done, entry.After)
	return nil
}

// stateOf describes a subject's state in Redis.
func stateOf(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
	reader, err := inspect.NewReader(rdb, p)
	if err != nil {
		return "", err
	}
	report, err := reader.Subject(ctx, subject)
	if err != nil {
		return "", err
	}
	return report.State(), nil
}

// policyFile returns file, or the policy in the folder if it is empty. Without both, the error asks for missing.
func (a *app) policyFile(file, missing string) (string, error) {
	if file != "" {
		return file, nil
	}
	if file = service.PolicyIn(a.dir); file == "" {
		return "", usageErrorf("no policy: give %s", missing)
	}
	a.note("using the policy in %s", file)
	return file, nil
}

// service reads the policy that --policy names, or the one in the folder.
func (a *app) service() (*service.Service, error) {
	file := a.policy
	if file == "" && a.namespace == "" {
		if file = service.PolicyIn(a.dir); file != "" {
			a.note("using the policy in %s", file)
		}
	}
	return service.Load(file, a.namespace)
}

// serviceToRead is service for a command that changes nothing.
func (a *app) serviceToRead() (*service.Service, error) {
	s, err := a.service()
	if err == nil && !s.Given {
		a.note("no policy: using namespace %s, without limits; give --policy FILE", s.Namespace)
	}
	return s, err
}

// resolve returns the subject that a text names, with a note if the guard makes another one of it.
func (a *app) resolve(s *service.Service, text string, by func(*service.Service, string) (string, error)) (string, error) {
	subject, err := by(s, text)
	if err == nil && subject != text {
		a.note("%s is %s for the guard", text, subject)
	}
	return subject, err
}

// oneSubject accepts one SUBJECT.
var oneSubject = oneArgument("SUBJECT", "ip=203.0.113.7 or key=ab12")
