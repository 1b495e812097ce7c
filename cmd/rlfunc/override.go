package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/guard/inspect"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/agreed"
	"github.com/rlfunc/rlfunc/internal/overrides"
	"github.com/rlfunc/rlfunc/internal/terminal"
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
	var given []string
	for _, name := range []string{"allow", "deny", "multiply", "add"} {
		if cmd.Flags().Changed(name) {
			given = append(given, "--"+name)
		}
	}
	adds := cmd.Flags().Changed("add")
	switch {
	case len(given) > 1:
		return usageErrorf("%s exclude each other: give one of them", strings.Join(given, " and "))
	case len(given) == 0 || !e.allow && !e.deny && !adds && !cmd.Flags().Changed("multiply"):
		return usageErrorf("needs one of --allow, --deny, --multiply N and --add AMOUNT")
	case !adds && !cmd.Flags().Changed("for"):
		return usageErrorf("--for is missing: say how long the override lasts, for example --for 7d")
	case e.span < 0 || e.span == 0 && cmd.Flags().Changed("for"):
		return usageErrorf("--for must be a positive duration, for example 7d")
	case adds != (e.budget != ""):
		return usageErrorf("--add AMOUNT and --budget NAME must be given together")
	case cmd.Flags().Changed("multiply") && (e.multiply < 1 || e.multiply > agreed.MaxFactor):
		return usageErrorf("--multiply must be 1 to 1000000, got %d", e.multiply)
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
	if subject, err = s.OverrideSubject(text); err != nil || s.File == "" {
		return subject, p, err
	}
	if err := s.CheckOverride(subject, policy.Override{Allow: e.allow, Deny: e.deny, Multiply: e.multiply}); err != nil {
		return "", p, fmt.Errorf("override of %s: %w", subject, err)
	}
	return subject, p, nil
}

// resolveTopUp is resolve for --add. A top-up of a budget with periods ends with the current one unless --for says when.
func (e *effect) resolveTopUp(s *service.Service, text string, c *change) (string, override.SetParams, error) {
	p := override.SetParams{Effect: override.SetEffectAdd, Duration: e.span, Budget: e.budget}
	if s.File == "" {
		return "", p, errors.New("--add needs the policy, which has the budget's unit and period: give --policy FILE")
	}
	subject := text
	if text != policy.ByAll {
		var err error
		if subject, err = s.Subject(text); err != nil {
			return "", p, err
		}
	}
	b, err := s.BudgetOf(subject, e.budget)
	if err != nil {
		return "", p, fmt.Errorf("override of %s: %w", subject, err)
	}
	amount, err := b.ParseAmount(e.add)
	if err != nil {
		return "", p, usageErrorf("--add %w", err)
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
			return "", p, usageErrorf("--for must say how long: budget %s has a window that slides, and no period that ends", b.Name)
		}
		period := periods.Around(time.Now())
		p.Duration, p.Next = period.Next.Sub(period.Start), period.Next
		until = "until " + timeText(p.Next) + ", when the " + string(b.Every) + " of the budget ends"
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
				p.Subject, p.Target, p.By, p.Reason = agreed.OverridesSubject, subject, c.by, c.reason
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
	durationFlag(cmd, &e.span, "for", forUsage)
	return a.withChange(cmd, &c)
}

func (a *app) overrideClearCommand() *cobra.Command {
	c := change{state: overrideOf}
	budget := ""
	cmd := &cobra.Command{
		Use:   "clear SUBJECT --reason TEXT",
		Short: "Clear the overrides of a subject",
		Long: `Clears what ` + "`rlfunc override set`" + ` set for a subject: its override and its top-ups of budgets, or with --budget only the top-up of one.
Overrides of the policy's file stay and apply again. Guards see the change after at most guard.Options.CacheTTL, 10 s by default.

` + changeHelp,
		Example: `  rlfunc override clear key=ab12 --reason 'launch is over' --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc override clear org=acme --budget org_month --reason 'invoice unpaid' --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: oneSubject,
		RunE: func(cmd *cobra.Command, args []string) error {
			c.command, c.question = "override clear", "Clear the overrides of %s?"
			if budget != "" {
				c.command, c.question = "override clear --budget "+budget, "Clear the top-up of budget "+strings.ReplaceAll(budget, "%", "%%")+" of %s?"
			}
			c.resolve = (*service.Service).OverrideSubject
			c.apply = func(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
				client, err := override.New(rdb, fcall.Options{Namespace: p.Namespace})
				if err != nil {
					return "", err
				}
				r, err := client.Clear(ctx, override.ClearParams{Subject: agreed.OverridesSubject, Target: subject, Budget: budget})
				if err != nil || !r.Existed {
					return "there was no override", err
				}
				return "cleared", nil
			}
			return a.change(cmd.Context(), args[0], &c)
		},
	}
	cmd.Flags().StringVar(&budget, "budget", "", topUpUsage)
	return a.withChange(cmd, &c)
}

func (a *app) overrideListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the overrides that were set at run time",
		Long: `Lists the overrides that ` + "`rlfunc override set`" + ` set: subject, effect, time left, operator and reason. It does not list overrides of the
policy's file. With a policy, overrides that guards ignore are findings, with exit code 2.`,
		Example: "  rlfunc override list --policy policy.yaml --redis redis://127.0.0.1:6379",
		Args:    noArguments,
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
	all, rows := []listedOverride{}, [][]string(nil)
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
		rows = append(rows, []string{terminal.Visible(o.Subject), effectOf(o), inspect.Words(o.Left), timeText(o.Ends), terminal.Visible(o.By), terminal.Visible(o.Reason)})
	}
	if len(all) == 0 {
		a.note("namespace %s has no overrides", s.Namespace)
	}
	err = a.print(map[string]any{"namespace": s.Namespace, "overrides": all}, func() error {
		return a.table([]string{"subject", "effect", "left", "ends", "by", "reason"}, rows)
	})
	for _, o := range all {
		if o.Finding != "" {
			a.warnf("guards ignore the override of %s: %s", terminal.Visible(o.Subject), o.Finding)
		}
	}
	return reporting(len(findings) > 0, err)
}

func readOverrides(ctx context.Context, rdb fcall.Caller, p *policy.Policy) ([]override.ListOverridesResult, error) {
	client, err := override.New(rdb, fcall.Options{Namespace: p.Namespace})
	if err != nil {
		return nil, err
	}
	r, err := client.List(ctx, override.ListParams{Subject: agreed.OverridesSubject})
	return r.Overrides, err
}

// overrideOf describes the overrides of a subject.
func overrideOf(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
	all, err := readOverrides(ctx, rdb, p)
	if err != nil {
		return "", err
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
