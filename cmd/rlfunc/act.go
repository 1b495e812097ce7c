package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/audit"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/inspect"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// An act is what an operator does to a subject by hand.
type act struct {
	command  string // as it is recorded: "block --for 1h0m0s"
	question string // with %s for the subject
	reason   string
	by       string
	yes      bool
	// resolve returns the subject that a text names. Defaults to the one that the guard makes of it.
	resolve func(text string, r *rules) (string, error)
	// state returns what Redis holds of the subject, in words. Defaults to its limits, budgets, attempts and block.
	state func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error)
	// prepare returns an error if the policy does not have what it takes; nil where it needs nothing.
	prepare func(p *policy.Policy, subject string) error
	// do does it, and says what was done.
	do func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error)
}

// withAct adds the flags of commands that change a subject.
func (a *app) withAct(cmd *cobra.Command, act *act) *cobra.Command {
	cmd.Flags().StringVar(&act.reason, "reason", "", "why, for the records (required)")
	cmd.Flags().StringVar(&act.by, "by", "", "who does it, for the records (default user@host)")
	cmd.Flags().BoolVar(&act.yes, "yes", false, "do not ask")
	return a.withPolicy(cmd)
}

// errNoService refuses to change anything of a service that was not named: its keys may be in another namespace, and no guard reads them.
var errNoService = errors.New("no policy: give --policy FILE, or --namespace NAME where the file is not at hand; nothing was changed")

var errEmbedded = errors.New("the embedded engine has no streams to record it in, and forgets it at once: give the server that the guards use")

// perform asks, records, acts, and records what came of it.
func (a *app) perform(ctx context.Context, text string, act *act) error {
	if act.reason == "" {
		return errors.New("why? give --reason TEXT, which is recorded")
	}
	rules, err := a.rules()
	if err != nil {
		return err
	}
	if rules.source == fromNothing {
		return errNoService
	}
	resolve, state := act.resolve, act.state
	if resolve == nil {
		resolve = a.subject
	}
	if state == nil {
		state = stateOf
	}
	subject, err := resolve(text, rules)
	if err != nil {
		return err
	}
	if act.prepare != nil {
		if err := act.prepare(rules.Policy, subject); err != nil {
			return err
		}
	}
	conn, err := a.connect()
	if err != nil {
		return err
	}
	defer conn.close()
	if conn.embedded != nil {
		return errEmbedded
	}
	before, err := state(ctx, conn.client, rules.Policy, subject)
	if err != nil {
		return err
	}
	a.talk("%s: %s", subject, before)
	if !act.yes && !a.sure(fmt.Sprintf(act.question, subject)) {
		return exitCode(exitDifferences)
	}
	if act.by == "" {
		act.by = whoami()
	}
	log := audit.Open(conn.client, rules.Namespace)
	entry := audit.Entry{Operation: audit.Operation{By: act.by, Command: act.command, Subject: subject, Reason: act.reason, Before: before}}
	if entry.ID, err = log.Begin(ctx, entry.Operation); err != nil {
		return err
	}
	entry.At = audit.TimeOf(entry.ID)
	// What was begun is ended, and recorded, whatever becomes of this process's context.
	ctx = context.WithoutCancel(ctx)
	done, acted := act.do(ctx, conn.client, rules.Policy, subject)
	entry.Result = done
	if acted != nil {
		entry.Result = "failed: " + acted.Error()
	}
	if after, err := state(ctx, conn.client, rules.Policy, subject); err == nil {
		entry.After = after
	}
	if err := log.End(ctx, entry.ID, entry.Result, entry.After); err != nil {
		return errors.Join(acted, err)
	}
	if acted != nil {
		return fail(act.command, subject, acted)
	}
	if a.json {
		return a.printJSON(map[string]any{"format": 1, "entry": entry})
	}
	fmt.Fprintf(a.out, "%s: %s; now %s\n", subject, done, entry.After)
	return nil
}

// stateOf returns what Redis holds of a subject, in words.
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

// whoami is who sits here, as user@host.
func whoami() string {
	name, host := "unknown", "unknown"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}
