package inspect

import (
	"fmt"
	"strings"
)

// State returns the subject's block and usage as one line for the audit log.
func (rep *Report) State() string {
	var all []string
	if b := rep.Block; b != nil {
		by := fmt.Sprintf("tier %d", b.Tier)
		if b.Tier == 0 {
			by = "hand"
			if b.Reason != "" {
				by += " (" + b.Reason + ")"
			}
		}
		all = append(all, fmt.Sprintf("blocked by %s until %s", by, b.Until.UTC().Format("2006-01-02T15:04:05Z")))
	}
	for i := range rep.Limits {
		if l := &rep.Limits[i]; l.Used > 0 {
			all = append(all, fmt.Sprintf("%s %d used %s", l.path(), l.Used, l.span()))
		}
	}
	for _, b := range rep.Budgets {
		if b.Spent > 0 {
			all = append(all, fmt.Sprintf("%s %s spent of %s", b.Name, b.Spent, b.Budget))
		}
	}
	if n := len(rep.Attempts); n > 0 {
		all = append(all, fmt.Sprintf("%d attempts", n))
	}
	if rep.Strikes > 0 {
		all = append(all, fmt.Sprintf("%d strikes", rep.Strikes))
	}
	if len(all) == 0 {
		return "nothing"
	}
	return strings.Join(all, ", ")
}
