package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/duration"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/inspect"
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
	case e.multiply < 1 || e.multiply > 1_000_000:
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
