package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/inspect"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/guard/policy"
)

const overridesRecorded = `It needs the policy (--policy, or policy.yaml in the folder) or its --namespace. By a policy it rejects a subject that no request has, and a claimed
identity with --allow or --multiply. With --namespace alone it does not check that; guards ignore such an override.

It shows what is there and asks; without a terminal it needs --yes. Before it changes anything it writes an entry to the
stream <namespace>:{audit}:log, see ` + "`rlfunc audit`" + `; if that fails it changes nothing.`

func (a *app) overrideCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "override",
		Short: "Set, list and clear overrides of a guarded service at run time",
		Args:  cobra.NoArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(a.overrideSetCommand(), a.overrideListCommand(), a.overrideClearCommand())
	return c
}

// An effect is what the flags of set say.
type effect struct {
	allow, deny bool
	multiply    int64
}

// parameters returns what to set, in words for the record and as a question.
func (e effect) parameters(cmd *cobra.Command, hold time.Duration) (p override.SetParams, words, question string, err error) {
	given := 0
	for _, name := range []string{"allow", "deny", "multiply"} {
		if cmd.Flags().Changed(name) {
			given++
		}
	}
	p.Duration = hold
	switch {
	case given != 1 || !e.allow && !e.deny && !cmd.Flags().Changed("multiply"):
		return p, "", "", errors.New("override set needs one of --allow, --deny and --multiply N")
	case e.allow:
		p.Effect, words, question = override.SetEffectAllow, "--allow", "Lift every limit of %s for "
	case e.deny:
		p.Effect, words, question = override.SetEffectDeny, "--deny", "Refuse every request of %s for "
	case e.multiply < 1 || e.multiply > 1_000_000:
		return p, "", "", fmt.Errorf("--multiply must be 1 to 1000000, got %d", e.multiply)
	default:
		p.Effect, p.Factor = override.SetEffectMultiply, e.multiply
		words, question = fmt.Sprintf("--multiply %d", e.multiply), fmt.Sprintf("Give %%s %d times each limit for ", e.multiply)
	}
	return p, "override set " + words + " --for " + hold.String(), question + inspect.Words(hold) + "?", nil
}

func (a *app) overrideSetCommand() *cobra.Command {
	act := act{state: overrideOf}
	var e effect
	var hold time.Duration
	cmd := &cobra.Command{
		Use:   "set SUBJECT (--allow|--deny|--multiply N) --for DURATION --reason TEXT",
		Short: "Lift, refuse or multiply the limits of a subject for a while",
		Long: `Sets the override of a subject, or of a prefix of addresses (ip=203.0.113.0/24), until the time is over. It replaces an override that the subject has,
also one of the policy's file. Guards see it after guard.Options.DenyFor at most, which is 10 s by default. A namespace has at most
1,000.

` + overridesRecorded,
		Example: `  rlfunc override set key=ab12 --multiply 10 --for 7d --reason 'launch day' --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc override set ip=203.0.113.0/24 --deny --for 1h --reason 'flood' --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: oneOverride,
		RunE: func(cmd *cobra.Command, args []string) error {
			if hold <= 0 {
				return errors.New("--for must be a positive duration, for example 7d")
			}
			p, words, question, err := e.parameters(cmd, hold)
			if err != nil {
				return err
			}
			act.command, act.question = words, question
			act.resolve = func(text string, r *rules) (string, error) {
				return a.overridden(text, r, policy.Override{Allow: e.allow, Deny: e.deny, Multiply: e.multiply})
			}
			act.do = func(ctx context.Context, rdb fcall.Caller, rules *policy.Policy, subject string) (string, error) {
				client, err := override.New(rdb, fcall.Options{Namespace: rules.Namespace})
				if err != nil {
					return "", err
				}
				p.Bucket, p.Subject, p.By, p.Reason = policy.OverridesBucket, subject, act.by, act.reason
				r, err := client.Set(ctx, p)
				switch {
				case err != nil:
					return "", err
				case r.Replaced:
					return "replaced", nil
				}
				return "set", nil
			}
			return a.perform(cmd.Context(), args[0], &act)
		},
	}
	cmd.Flags().BoolVar(&e.allow, "allow", false, "no limits; verified identities only")
	cmd.Flags().BoolVar(&e.deny, "deny", false, "every request refused")
	cmd.Flags().Int64Var(&e.multiply, "multiply", 0, "how many `TIMES` each limit and budget, 1 to 1000000; verified identities only")
	addDuration(cmd, &hold, "for", "time until the override ends, 1ms to 3650d, such as 12h or 7d (required)")
	return a.withAct(cmd, &act)
}

// everyOverride stands for all subjects in the record.
const everyOverride = "all overrides"

func (a *app) overrideClearCommand() *cobra.Command {
	act := act{state: overrideOf}
	every := false
	cmd := &cobra.Command{
		Use:   "clear SUBJECT --reason TEXT",
		Short: "Clear the override of a subject, or all",
		Long: `Clears the override that ` + "`rlfunc override set`" + ` set for a subject; --all clears those of every subject. Overrides of the policy's file stay, and hold again.
Guards see it after guard.Options.DenyFor at most, which is 10 s by default.

` + overridesRecorded,
		Example: `  rlfunc override clear key=ab12 --reason 'launch is over' --policy policy.yaml --redis redis://127.0.0.1:6379
  rlfunc override clear --all --reason 'wrong list' --policy policy.yaml --redis redis://127.0.0.1:6379`,
		Args: func(cmd *cobra.Command, args []string) error {
			if every && len(args) == 0 {
				return nil
			} else if every {
				return fmt.Errorf("override clear takes a SUBJECT or --all, got both: %s", strings.Join(args, " "))
			}
			return oneOverride(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			text := everyOverride
			act.command, act.question = "override clear", "Clear the override of %s?"
			act.resolve, act.do = a.cleared, clearOverride
			if every {
				act.command, act.question = "override clear --all", "Clear %s of the namespace?"
				act.resolve = func(text string, _ *rules) (string, error) { return text, nil }
				act.do = clearOverrides
			} else {
				text = args[0]
			}
			return a.perform(cmd.Context(), text, &act)
		},
	}
	cmd.Flags().BoolVar(&every, "all", false, "all overrides of the namespace")
	return a.withAct(cmd, &act)
}

func clearOverride(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
	client, err := override.New(rdb, fcall.Options{Namespace: p.Namespace})
	if err != nil {
		return "", err
	}
	r, err := client.Clear(ctx, override.ClearParams{Bucket: policy.OverridesBucket, Subject: subject})
	if err != nil || !r.Existed {
		return "there was nothing to clear", err
	}
	return "cleared", nil
}

func clearOverrides(ctx context.Context, rdb fcall.Caller, p *policy.Policy, _ string) (string, error) {
	client, err := override.New(rdb, fcall.Options{Namespace: p.Namespace})
	if err != nil {
		return "", err
	}
	r, err := client.ClearAll(ctx, override.ClearAllParams{Bucket: policy.OverridesBucket})
	if err != nil || !r.Existed {
		return "there was nothing to clear", err
	}
	return "cleared", nil
}

func oneOverride(_ *cobra.Command, args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("override needs one SUBJECT, such as key=ab12 or ip=203.0.113.0/24, got %d", len(args))
	}
	return nil
}
