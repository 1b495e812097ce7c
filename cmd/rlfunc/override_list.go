package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
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

func (a *app) overrideListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the overrides that were set at run time",
		Long: `Lists the overrides that ` + "`rlfunc override set`" + ` set: subject, effect, time left, operator and reason. It does not list overrides of the
policy's file. With a policy, overrides that guards ignore are findings, with exit code 2.`,
		Example: "  rlfunc override list --policy policy.yaml --redis redis://127.0.0.1:6379",
		Args:    usage.None,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.listOverrides(cmd.Context()) },
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

func (a *app) listOverrides(ctx context.Context) error {
	s, err := a.serviceToRead()
	if err != nil {
		return err
	}
	conn, err := a.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
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
		if s.Source == service.FromPolicy {
			if err := s.CheckOverride(o.Subject, asOverride(&o)); err != nil {
				row.Finding = err.Error()
				findings++
			}
		}
		all = append(all, row)
	}
	if a.json {
		err = a.printJSON(map[string]any{"namespace": s.Namespace, "overrides": all})
	} else {
		err = a.printOverrides(s.Namespace, found, all)
	}
	if err == nil && findings > 0 {
		return exitcode.Findings
	}
	return err
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
