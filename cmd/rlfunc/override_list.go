package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/inspect"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func (a *app) overrideListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the overrides that hold",
		Long: `Lists the overrides that ` + "`rlfunc override set`" + ` set: for whom, what, how long still, who set it and why. Overrides of the policy's file are not
listed. By a policy, overrides that guards ignore are findings, and the exit code is 2.`,
		Example: "  rlfunc override list --policy policy.yaml --redis redis://127.0.0.1:6379",
		Args:    cobra.NoArgs,
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
	Finding string    `json:"finding"` // why guards ignore it; "" where they do not, or where the policy is not known
}

func (a *app) listOverrides(ctx context.Context) error {
	rules, err := a.toRead()
	if err != nil {
		return err
	}
	conn, err := a.connect()
	if err != nil {
		return err
	}
	defer conn.close()
	if err := conn.ensure(ctx, override.Library); err != nil {
		return err
	}
	found, err := readOverrides(ctx, conn.client, rules.Policy)
	if err != nil {
		return fmt.Errorf("list overrides: %w", conn.explain(ctx, err))
	}
	all, findings := []listedOverride{}, 0
	for _, o := range found {
		row := listedOverride{
			Subject: o.Subject, Effect: string(o.Effect), Factor: o.Factor, Left: o.Left.Seconds(), Ends: o.Ends.UTC(), Set: o.Set.UTC(), By: o.By, Reason: o.Reason,
		}
		if rules.source == fromPolicy {
			if err := rules.CheckOverride(o.Subject, asOverride(&o)); err != nil {
				row.Finding = err.Error()
				findings++
			}
		}
		all = append(all, row)
	}
	if a.json {
		err = a.printJSON(map[string]any{"format": 1, "namespace": rules.Namespace, "overrides": all})
	} else {
		a.printOverrides(rules.Namespace, found, all)
	}
	if err == nil && findings > 0 {
		return exitCode(exitDifferences)
	}
	return err
}

func (a *app) printOverrides(namespace string, found []override.ListOverridesResult, all []listedOverride) {
	if len(all) == 0 {
		a.talk("namespace %s has no overrides", namespace)
	}
	var rows [][]string
	for i, o := range all {
		rows = append(rows, []string{inspect.Visible(o.Subject), effectOf(&found[i]), inspect.Words(found[i].Left), stamp(o.Ends), inspect.Visible(o.By), inspect.Visible(o.Reason)})
	}
	printTable(a.out, []string{"subject", "effect", "left", "ends", "by", "reason"}, rows)
	for _, o := range all {
		if o.Finding != "" {
			a.talk("guards ignore the override of %s: %s", inspect.Visible(o.Subject), o.Finding)
		}
	}
}

func readOverrides(ctx context.Context, rdb fcall.Caller, p *policy.Policy) ([]override.ListOverridesResult, error) {
	client, err := override.New(rdb, fcall.Options{Namespace: p.Namespace})
	if err != nil {
		return nil, err
	}
	r, err := client.List(ctx, override.ListParams{Bucket: policy.OverridesBucket})
	return r.Overrides, err
}

// overrideOf returns the override of a subject in words; of everyOverride how many there are.
func overrideOf(ctx context.Context, rdb fcall.Caller, p *policy.Policy, subject string) (string, error) {
	all, err := readOverrides(ctx, rdb, p)
	if err != nil {
		return "", err
	}
	if subject == everyOverride {
		return fmt.Sprintf("%d set at run time", len(all)), nil
	}
	for _, o := range all {
		if o.Subject == subject {
			return fmt.Sprintf("%s until %s, by %s (%s)", effectOf(&o), o.Ends.UTC().Format("2006-01-02T15:04:05Z"), inspect.Visible(o.By), inspect.Visible(o.Reason)), nil
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
