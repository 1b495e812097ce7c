package policy

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLookup_theMostExactEntryWins(t *testing.T) {
	l := (&Overrides{
		Allow:    []string{"key=a", "ip=10.1.0.0/16", "ip=2001:db8:1::/48"},
		Deny:     []string{"key=b", "ip=10.0.0.0/8", "ip=10.1.2.3", "ip=2001:db8::/32"},
		Multiply: map[string]int64{"key=c": 10, "ip=10.0.0.0/8": 2, "ip=10.1.0.0/16": 3},
	}).Lookup()
	for subject, want := range map[string]Override{
		"key=a":                {Allow: true, Multiply: 1},
		"key=b":                {Deny: true, Multiply: 1},
		"key=c":                {Multiply: 10},
		"key=d":                {Multiply: 1},
		"ip=10.9.9.9":          {Deny: true, Multiply: 2},
		"ip=::ffff:10.9.9.9":   {Deny: true, Multiply: 2},
		"ip=10.1.9.9":          {Allow: true, Multiply: 3},
		"ip=10.1.2.3":          {Deny: true, Multiply: 3},
		"ip=11.0.0.1":          {Multiply: 1},
		"ip=2001:db8:1:2::/64": {Allow: true, Multiply: 1},
		"ip=2001:db8:2:2::/64": {Deny: true, Multiply: 1},
		"ip=2001:db9::/64":     {Multiply: 1},
		"ip=2001:db8::/31":     {Multiply: 1},
		"ip=nonsense":          {Multiply: 1},
		"device=ip=10.9.9.9":   {Multiply: 1},
		"":                     {Multiply: 1},
	} {
		if diff := cmp.Diff(want, l.Of(subject)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", subject, diff)
		}
	}
}
