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
	"github.com/rlfunc/rlfunc/internal/overrides"
	"github.com/rlfunc/rlfunc/internal/terminal"
	"github.com/rlfunc/rlfunc/internal/wire"
)

func (a *app) overrideCommand() *cobra.Command {
	return group("override", "Set, list and clear overrides at run time", a.overrideSetCommand(), a.overrideListCommand(), a.overrideClearCommand())
}

// topUpUsage is the help of --budget.
const topUpUsage = "`NAME` of the budget whose top-up it is"

// An effect is one of --allow, --deny, --multiply and --add.
type effect struct {
	allow, deny bool
	multiply    int64
	add, budget string
	span        time.Duration // --for
}

// check finds flags that do not go together.
func (e *effect) check(cmd *cobra.Command) error {
	given := 0
	for _, name := range []string{"allow", "deny", "multiply", "add"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	adds := cmd.Flags().Changed("add")
	switch {
	case e.span < 0 || e.span == 0 && (!adds || cmd.Flags().Changed("for")):
		return usage.Errorf("--for must be a positive duration, for example 7d")
	case given != 1 || !e.allow && !e.deny && !adds && !cmd.Flags().Changed("multiply"):
		return usage.Errorf("needs one of --allow, --deny, --multiply N and --add AMOUNT")
	case adds != (e.budget != ""):
		return usage.Errorf("--add AMOUNT and --budget NAME must be given together")
	case cmd.Flags().Changed("multiply") && (e.multiply < 1 || e.multiply > wire.MaxFactor):
		return usage.Errorf("--multiply must be 1 to 1000000, got %d", e.multiply)
	}
	return nil
}

// resolve returns the subject and what to set. It completes what c asks and records.
func (e *effect) resolve(s *service.Service, text string, c *change) (subject string, p override.SetParams, err error) {
	p.Duration = e.span
	if e.budget != "" {
		return e.resolveTopUp(s, text, c)
	}
	words, question := "--allow", "Lift every limit of %s"
	switch {
	case e.allow:
		p.Effect = override.SetEffectAllow
	case e.deny:
		p.Effect, words, question = override.SetEffectDeny, "--deny", "Refuse every request of %s"
	default:
		p.Effect, p.Factor = override.SetEffectMultiply, e.multiply
		words, question = fmt.Sprintf("--multiply %d", e.multiply), fmt.Sprintf("Give %%s %d times each limit", e.multiply)
	}
	c.command, c.question = "override set "+words+" --for "+policy.FormatDuration(e.span), question+" for "+inspect.Words(e.span)+"?"
	subject, err = s.OverrideSubject(text, policy.Override{Allow: e.allow, Deny: e.deny, Multiply: e.multiply})
	return subject, p, err
}

// resolveTopUp is resolve for --add. A top-up of a budget with periods ends with the current one unless --for says when.
func (e *effect) resolveTopUp(s *service.Service, text string, c *change) (string, override.SetParams, error) {
	p := override.SetParams{Effect: override.SetEffectAdd, Duration: e.span, Budget: e.budget}
	subject, b, err := s.TopUpSubject(text, e.budget)
	if err != nil {
		return "", p, err
	}
	amount, err := b.ParseAmount(e.add)
	if err != nil {
		return "", p, usage.Errorf("--add %w", err)
	}
	t := policy.TopUp{Subject: subject, Budget: b.Name, Unit: b.Unit, Amount: amount}
	if err := s.CheckTopUp(t); err != nil {
		return "", p, fmt.Errorf("override of %s: --add %s %w", subject, e.add, err)
	}
	p.Unit, p.Amount = t.Unit, fcall.Micros(t.Amount)
	until := "for " + inspect.Words(e.span)
	c.command = fmt.Sprintf("override set --budget %s --add %s", b.Name, e.add)
	if e.span > 0 {
		c.command += " --for " + policy.FormatDuration(e.span)
	} else {
		periods, err := b.Calendar()
		if periods == nil || err != nil {
			return "", p, usage.Errorf("--for must say how long: budget %s has a window that slides, and no period that ends", b.Name)
		}
		period := periods.Around(time.Now())
		p.Duration, p.Next = period.Next.Sub(period.Start), period.Next
		until = "until " + output.Time(p.Next) + ", when the " + string(b.Every) + " of the budget ends"
	}
	c.question = "Add " + strings.TrimPrefix(t.String(), "add ") + " of %s " + until + ", in place of an earlier top-up of it?"
	return subject, p, nil
}

func (a *app) overrideSetCommand() *cobra.Command {
	c := change{state: overrideOf}
	var e effect
	cmd := &cobra.Command{
		Use:   "set SUBJECT (--allow|--deny|--multiply N|--add AMOUNT --budget NAME) [--for DURATION] --reason TEXT",
		Short: "Lift, refuse or multiply the limits of a subject for a while, or add to a budget",
		Long: `Sets the override of a subject, or of a prefix of addresses (ip=203.0.113.0/24), until the time is over, 1ms to 3650d. It replaces the
subject's earlier override, also one of the policy's file. Guards see it after at most guard.Options.CacheTTL, 10 s by default. A namespace
holds at most 1,000 overrides.

--add adds an amount to one budget of the subject, in money or in the budget's unit. It needs the policy. SUBJECT is what the budget counts:
org=acme, a combination such as org=acme+team=ml, or all for a budget by all. A budget with every needs no --for: the top-up ends with the
current period. It stands beside the subject's other override and beside top-ups of other budgets, and replaces an earlier one of the same
budget. A factor of --multiply applies first.

With --allow, --multiply and --add the identity must be verified. With --namespace alone that is not checked, and guards ignore such an
override.

` + changeHelp,
		Example: `  rlfunc override set key=ab12 --multiply 10 --for 7d --reason 'launch day' --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc override set ip=203.0.113.0/24 --deny --for 1h --reason 'flood' --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc override set org=acme --budget org_month --add 500 --reason 'invoice paid early' --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: oneSubject,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := e.check(cmd); err != nil {
				return err
			}
			var p override.SetParams
			c.resolve = func(s *service.Service, text string) (subject string, err error) {
				subject, p, err = e.resolve(s, text, &c)
				return subject, err
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
	cmd.Flags().StringVar(&e.add, "add", "", "`AMOUNT` more of a budget, such as 500 or 0.25")
	cmd.Flags().StringVar(&e.budget, "budget", "", topUpUsage)
	duration.Flag(cmd, &e.span, "for", forUsage)
	return a.withChange(cmd, &c)
}

// allOverrides stands for all subjects in the records.
const allOverrides = "all overrides"

func (a *app) overrideClearCommand() *cobra.Command {
	c := change{state: overrideOf}
	all, budget := false, ""
	cmd := &cobra.Command{
		Use:   "clear SUBJECT --reason TEXT",
		Short: "Clear the overrides of a subject, or all overrides",
		Long: `Clears what ` + "`rlfunc override set`" + ` set for a subject: its override and its top-ups of budgets, or with --budget only the top-up of one.
With --all it clears those of every subject. Overrides of the policy's file stay and apply again. Guards see the change after at most
guard.Options.CacheTTL, 10 s by default.

` + changeHelp,
		Example: `  rlfunc override clear key=ab12 --reason 'launch is over' --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc override clear --all --reason 'wrong list' --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: func(cmd *cobra.Command, args []string) error {
			if all && len(args) == 0 && budget == "" {
				return nil
			} else if all && len(args) == 0 {
				return usage.Errorf("--budget needs the SUBJECT whose top-up it is, and cannot be combined with --all")
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
				c.command, c.question = "override clear", "Clear the overrides of %s?"
				if budget != "" {
					c.command, c.question = "override clear --budget "+budget, "Clear the top-up of budget "+strings.ReplaceAll(budget, "%", "%%")+" of %s?"
				}
				c.resolve = (*service.Service).StoredOverrideSubject
			}
			c.apply = func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
				return clearOverrides(ctx, rdb, p, subject, budget, all)
			}
			return a.change(cmd.Context(), text, &c)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all overrides of the namespace")
	cmd.Flags().StringVar(&budget, "budget", "", topUpUsage)
	return a.withChange(cmd, &c)
}

// clearOverrides clears the overrides of a subject, of one budget unless it is "", or those of all.
func clearOverrides(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject, budget string, all bool) (string, error) {
	client, err := override.New(rdb, fcall.Options{Namespace: p.Namespace})
	if err != nil {
		return "", err
	}
	var r override.ClearAllResult
	if all {
		r, err = client.ClearAll(ctx, override.ClearAllParams{Subject: wire.OverridesSubject})
	} else {
		var one override.ClearResult
		one, err = client.Clear(ctx, override.ClearParams{Subject: wire.OverridesSubject, Target: subject, Budget: budget})
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
	Factor  int64     `json:"factor"`           // 1 unless the effect is multiply
	Budget  string    `json:"budget,omitempty"` // of effect add, with its unit and the amount, decimal text
	Unit    string    `json:"unit,omitempty"`
	Amount  string    `json:"amount,omitempty"`
	Left    float64   `json:"left"` // seconds
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
	findings := map[*override.ListOverridesResult]string{}
	if s.File != "" {
		overrides.Of(s.Policy, found, func(row *override.ListOverridesResult, err error) { findings[row] = err.Error() })
	}
	all := []listedOverride{}
	for i := range found {
		o := &found[i]
		row := listedOverride{
			Subject: o.Subject, Effect: string(o.Effect), Factor: o.Factor, Left: o.Left.Seconds(), Ends: o.Ends.UTC(), Set: o.Set.UTC(), By: o.By, Reason: o.Reason,
			Budget: o.Budget, Unit: o.Unit, Finding: findings[o],
		}
		if o.Effect == override.ListOverridesEffectAdd {
			row.Amount = overrides.TopUp(o).AmountText()
		}
		all = append(all, row)
	}
	return reporting(len(findings) > 0, a.print(map[string]any{"namespace": s.Namespace, "overrides": all}, func() error {
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

// overrideOf describes the overrides of a subject, or counts all overrides.
func overrideOf(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
	all, err := readOverrides(ctx, rdb, p)
	if err != nil {
		return "", err
	}
	if subject == allOverrides {
		return fmt.Sprintf("%d set at run time", len(all)), nil
	}
	var held []string
	for _, o := range all {
		if o.Subject == subject {
			held = append(held, fmt.Sprintf("%s until %s, by %s (%s)", effectOf(&o), o.Ends.UTC().Format("2006-01-02T15:04:05Z"), terminal.Visible(o.By), terminal.Visible(o.Reason)))
		}
	}
	if held == nil {
		return "no override", nil
	}
	return strings.Join(held, "; "), nil
}

func effectOf(o *override.ListOverridesResult) string {
	switch o.Effect {
	case override.ListOverridesEffectMultiply:
		return fmt.Sprintf("multiply %d", o.Factor)
	case override.ListOverridesEffectAdd:
		return terminal.Visible(overrides.TopUp(o).String())
	}
	return string(o.Effect)
}
