package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/service"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/wire"
)

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
			c.command, c.question = "override clear", "Clear the override of %s?"
			c.resolve, c.apply = (*service.Service).StoredOverrideSubject, clearOverride
			if all {
				c.command, c.question = "override clear --all", "Clear %s of the namespace?"
				c.resolve = func(_ *service.Service, text string) (string, error) { return text, nil }
				c.apply = clearOverrides
			} else {
				text = args[0]
			}
			return a.change(cmd.Context(), text, &c)
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "all overrides of the namespace")
	return a.withChange(cmd, &c)
}

func clearOverride(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
	client, err := override.New(rdb, fcall.Options{Namespace: p.Namespace})
	if err != nil {
		return "", err
	}
	r, err := client.Clear(ctx, override.ClearParams{Subject: wire.OverridesSubject, Target: subject})
	if err != nil || !r.Existed {
		return "there was no override", err
	}
	return "cleared", nil
}

func clearOverrides(ctx context.Context, rdb fcall.Caller, p *policy.Policy, _ string) (string, error) {
	client, err := override.New(rdb, fcall.Options{Namespace: p.Namespace})
	if err != nil {
		return "", err
	}
	r, err := client.ClearAll(ctx, override.ClearAllParams{Subject: wire.OverridesSubject})
	if err != nil || !r.Existed {
		return "there was no override", err
	}
	return "cleared", nil
}
