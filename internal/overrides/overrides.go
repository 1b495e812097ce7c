// Package overrides reads the overrides that operators set at run time, as policies have them.
package overrides

import (
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Of returns the overrides and the top-ups among rows that guards follow. Guards ignore a row that the policy could not have, such as an allow
// of a claimed identity, which clients choose themselves: report, unless it is nil, is called with each.
func Of(p *policy.Policy, rows []override.ListOverridesResult, report func(row *override.ListOverridesResult, err error)) (map[string]policy.Override, []policy.TopUp) {
	exceptions, topUps := make(map[string]policy.Override, len(rows)), []policy.TopUp(nil)
	for i := range rows {
		row := &rows[i]
		if err := check(p, row); err != nil && row.Effect != override.ListOverridesEffectDeny {
			if report != nil {
				report(row, err)
			}
			continue
		}
		if row.Effect == override.ListOverridesEffectAdd {
			t := TopUp(row)
			t.Subject = p.CanonicalSubject(t.Subject)
			topUps = append(topUps, t)
			continue
		}
		exceptions[row.Subject] = policy.Override{
			Allow: row.Effect == override.ListOverridesEffectAllow, Deny: row.Effect == override.ListOverridesEffectDeny, Multiply: row.Factor,
		}
	}
	return exceptions, topUps
}

// TopUp returns the top-up of a row whose effect is add.
func TopUp(row *override.ListOverridesResult) policy.TopUp {
	return policy.TopUp{Subject: row.Subject, Budget: row.Budget, Unit: row.Unit, Amount: policy.Micros(row.Amount)}
}

// check returns an error for a row that the policy could not have. Its number is valid, because limits and budgets have a largest value.
func check(p *policy.Policy, row *override.ListOverridesResult) error {
	if row.Effect == override.ListOverridesEffectAdd {
		t := TopUp(row)
		t.Amount = 0
		return p.CheckTopUp(t)
	}
	return p.CheckOverride(row.Subject, policy.Override{
		Allow: row.Effect == override.ListOverridesEffectAllow, Deny: row.Effect == override.ListOverridesEffectDeny, Multiply: 1,
	})
}
