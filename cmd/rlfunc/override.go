package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/duration"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/output"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/inspect"
	"github.com/rlfunc/rlfunc/internal/terminal"
	"github.com/rlfunc/rlfunc/internal/wire"
)

func (a *app) overrideCommand() *cobra.Command {
	return group("override", "Set, list and clear overrides at run time", a.overrideSetCommand(), a.overrideListCommand(), a.overrideClearCommand())
}

// An effect is one of --allow, --deny and --multiply.
type effect struct {
	allow, deny bool
	multiply    int64
}

// parameters returns what to set, the words for the records, and the question to confirm.
func (e effect) parameters(cmd *cobra.Command, span time.Duration) (p override.SetParams, words, question string, err error) {
	given := 0
	for _, name := range []string{"allow", "deny", "multiply"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	p.Duration = span
	switch {
	case given != 1 || !e.allow && !e.deny && !cmd.Flags().Changed("multiply"):
		return p, "", "", usage.Errorf("needs one of --allow, --deny and --multiply N")
	case e.allow:
		p.Effect, words, question = override.SetEffectAllow, "--allow", "Lift every limit of %s for "
	case e.deny:
		p.Effect, words, question = override.SetEffectDeny, "--deny", "Refuse every request of %s for "
	case e.multiply < 1 || e.multiply > wire.MaxFactor:
		return p, "", "", usage.Errorf("--multiply must be 1 to 1000000, got %d", e.multiply)
	default:
		p.Effect, p.Factor = override.SetEffectMultiply, e.multiply
		words, question = fmt.Sprintf("--multiply %d", e.multiply), fmt.Sprintf("Give %%s %d times each limit for ", e.multiply)
	}
	return p, "override set " + words + " --for " + span.String(), question + inspect.Words(span) + "?", nil
}

func (a *app) overrideSetCommand() *cobra.Command {
	c := change{state: overrideOf}
	var e effect
	var span time.Duration
	cmd := &cobra.Command{
		Use:   "set SUBJECT (--allow|--deny|--multiply N) --for DURATION --reason TEXT",
		Short: "Lift, refuse or multiply the limits of a subject for a while",
		Long: `Sets the override of a subject, or of a prefix of addresses (ip=203.0.113.0/24), until the time is over, 1ms to 3650d. It replaces the
subject's earlier override, also one of the policy's file. Guards see it after at most guard.Options.CacheTTL, 10 s by default. A namespace
holds at most 1,000 overrides.

With --allow and --multiply the identity must be verified. With --namespace alone that is not checked, and guards ignore such an override.

` + changeHelp,
		Example: `  rlfunc override set key=ab12 --multiply 10 --for 7d --reason 'launch day' --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc override set ip=203.0.113.0/24 --deny --for 1h --reason 'flood' --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: oneSubject,
		RunE: func(cmd *cobra.Command, args []string) error {
			if span <= 0 {
				return usage.Errorf("--for must be a positive duration, for example 7d")
			}
			p, words, question, err := e.parameters(cmd, span)
			if err != nil {
				return err
			}
			c.command, c.question = words, question
			c.resolve = func(s *service.Service, text string) (string, error) {
				return s.OverrideSubject(text, policy.Override{Allow: e.allow, Deny: e.deny, Multiply: e.multiply})
			}
			c.apply = func(ctx context.Context, rdb fcall.Caller, rules *policy.Policy, subject string) (string, error) {
				client, err := override.New(rdb, fcall.Options{Namespace: rules.Namespace})
				if err != nil {
					return "", err
				}
				p.Subject, p.Target, p.By, p.Reason = wire.OverridesSubject, subject, c.by, c.reason
				r, err := client.Set(ctx, p)
				switch {
				case err != nil:
					return "", err
				case r.Replaced:
					return "replaced", nil
				}
				return "set", nil
			}
			return a.change(cmd.Context(), args[0], &c)
		},
	}
	cmd.Flags().BoolVar(&e.allow, "allow", false, "no limits")
	cmd.Flags().BoolVar(&e.deny, "deny", false, "refusal of every request")
	cmd.Flags().Int64Var(&e.multiply, "multiply", 0, "`FACTOR` of each limit and budget, 1 to 1000000")
	duration.Flag(cmd, &span, "for", forUsage)
	return a.withChange(cmd, &c)
}

// allOverrides stands for all subjects in the records.
const allOverrides = "all overrides"

func (a *app) overrideClearCommand() *cobra.Command {
	c := change{state: overrideOf}
	all := false
	cmd := &cobra.Command{
		Use:   "clear SUBJECT --reason TEXT",
		Short: "Clear the override of a subject, or all overrides",
		Long: `Clears the override that ` + "`rlfunc override set`" + ` set for a subject, or with --all those of every subject. Overrides of the policy's file
stay and apply again. Guards see the change after at most guard.Options.CacheTTL, 10 s by default.

` + changeHelp,
		Example: `  rlfunc override clear key=ab12 --reason 'launch is over' --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc override clear --all --reason 'wrong list' --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: func(cmd *cobra.Command, args []string) error {
			if all && len(args) == 0 {
				return nil
			} else if all {
				return usage.Errorf("takes SUBJECT or --all, not both, got %s", strings.Join(args, " "))
			}
			return oneSubject(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := allOverrides
			c.command, c.question = "override clear --all", "Clear %s of the namespace?"
			c.resolve = func(_ *service.Service, text string) (string, error) { return text, nil }
			if !all {
				text = args[0]
				c.command, c.question = "override clear", "Clear the override of %s?"
				c.resolve = (*service.Service).StoredOverrideSubject
			}
			c.apply = func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
				return clearOverrides(ctx, rdb, p, subject, all)
			}
			return a.change(cmd.Context(), text, &c)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all overrides of the namespace")
	return a.withChange(cmd, &c)
}

// clearOverrides clears the override of a subject, or those of all.
func clearOverrides(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string, all bool) (string, error) {
	client, err := override.New(rdb, fcall.Options{Namespace: p.Namespace})
	if err != nil {
		return "", err
	}
	var r override.ClearAllResult
	if all {
		r, err = client.ClearAll(ctx, override.ClearAllParams{Subject: wire.OverridesSubject})
	} else {
		var one override.ClearResult
		one, err = client.Clear(ctx, override.ClearParams{Subject: wire.OverridesSubject, Target: subject})
		r.Existed = one.Existed
	}
	if err != nil || !r.Existed {
		return "there was no override", err
	}
	return "cleared", nil
}

func (a *app) overrideListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the overrides that were set at run time",
		Long: `Lists the overrides that ` + "`rlfunc override set`" + ` set: subject, effect, time left, operator and reason. It does not list overrides of the
policy's file. With a policy, overrides that guards ignore are findings, with exit code 2.`,
		Example: "  rlfunc override list --policy policy.yaml --redis redis://127.0.0.1:6379",
		Args:    usage.None,
		RunE:    a.onService(a.listOverrides),
	}
	return a.withPolicy(cmd)
}

// A listedOverride is one override in JSON. Its names are an interface.
type listedOverride struct {
	Subject string    `json:"subject"`
	Effect  string    `json:"effect"`
	Factor  int64     `json:"factor"` // 1 unless the effect is multiply
	Left    float64   `json:"left"`   // seconds
	Ends    time.Time `json:"ends"`
	Set     time.Time `json:"set"`
	By      string    `json:"by"`
	Reason  string    `json:"reason"`
	Finding string    `json:"finding"` // why guards ignore it; "" if they follow it, or without a policy
}

func (a *app) listOverrides(ctx context.Context, s *service.Service, conn *connection.Conn, _ []string) error {
	if err := conn.Ensure(ctx, override.Library); err != nil {
		return err
	}
	found, err := readOverrides(ctx, conn.Client, s.Policy)
	if err != nil {
		return fmt.Errorf("list overrides: %w", err)
	}
	all, findings := []listedOverride{}, 0
	for _, o := range found {
		row := listedOverride{
			Subject: o.Subject, Effect: string(o.Effect), Factor: o.Factor, Left: o.Left.Seconds(), Ends: o.Ends.UTC(), Set: o.Set.UTC(), By: o.By, Reason: o.Reason,
		}
		if s.File != "" {
			if err := s.CheckOverride(o.Subject, asOverride(&o)); err != nil {
				row.Finding = err.Error()
				findings++
			}
		}
		all = append(all, row)
	}
	return reporting(findings > 0, a.print(map[string]any{"namespace": s.Namespace, "overrides": all}, func() error {
		return a.printOverrides(s.Namespace, found, all)
	}))
}

func (a *app) printOverrides(namespace string, found []override.ListOverridesResult, all []listedOverride) error {
	if len(all) == 0 {
		a.note("namespace %s has no overrides", namespace)
	}
	var rows [][]string
	for i, o := range all {
		rows = append(rows, []string{terminal.Visible(o.Subject), effectOf(&found[i]), inspect.Words(found[i].Left), output.Time(o.Ends), terminal.Visible(o.By), terminal.Visible(o.Reason)})
	}
	if err := a.table([]string{"subject", "effect", "left", "ends", "by", "reason"}, rows); err != nil {
		return err
	}
	for _, o := range all {
		if o.Finding != "" {
			a.warnf("guards ignore the override of %s: %s", terminal.Visible(o.Subject), o.Finding)
		}
	}
	return nil
}

func readOverrides(ctx context.Context, rdb fcall.Caller, p *policy.Policy) ([]override.ListOverridesResult, error) {
	client, err := override.New(rdb, fcall.Options{Namespace: p.Namespace})
	if err != nil {
		return nil, err
	}
	r, err := client.List(ctx, override.ListParams{Subject: wire.OverridesSubject})
	return r.Overrides, err
}

// overrideOf describes the override of a subject, or counts all overrides.
func overrideOf(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
	all, err := readOverrides(ctx, rdb, p)
	if err != nil {
		return "", err
	}
	if subject == allOverrides {
		return fmt.Sprintf("%d set at run time", len(all)), nil
	}
	for _, o := range all {
		if o.Subject == subject {
			return fmt.Sprintf("%s until %s, by %s (%s)", effectOf(&o), o.Ends.UTC().Format("2006-01-02T15:04:05Z"), terminal.Visible(o.By), terminal.Visible(o.Reason)), nil
		}
	}
	return "no override", nil
}

func effectOf(o *override.ListOverridesResult) string {
	if o.Effect == override.ListOverridesEffectMultiply {
		return fmt.Sprintf("multiply %d", o.Factor)
	}
	return string(o.Effect)
}

func asOverride(o *override.ListOverridesResult) policy.Override {
	return policy.Override{
		Allow: o.Effect == override.ListOverridesEffectAllow, Deny: o.Effect == override.ListOverridesEffectDeny, Multiply: o.Factor,
	}
}
