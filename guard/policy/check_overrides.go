package policy

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

const (
	keyMark    = "key=" // starts a subject that is an API key
	keyHexSize = 32
)

// check finds entries that contradict each other, that no request can have, or that push a limit above its bounds.
func (o *Overrides) check(p *Policy, found *problems) {
	first := map[string]string{}
	each := func(list string, subjects []string) {
		for i, subject := range subjects {
			at := fmt.Sprintf("overrides.%s[%d]", list, i)
			if other, ok := first[canonical(subject)]; ok {
				found.add(at, "%s is in %s too", quote(subject), other)
				continue
			}
			first[canonical(subject)] = at
			p.checkSubject(at, subject, found)
		}
	}
	each("allow", o.Allow)
	each("deny", o.Deny)

	top := o.greatest(p)
	factors := map[string]string{}
	for _, subject := range slices.Sorted(maps.Keys(o.Multiply)) {
		at := "overrides.multiply[" + strconv.Quote(subject) + "]"
		if other, ok := factors[canonical(subject)]; ok {
			found.add(at, "is in %s too", other)
		}
		factors[canonical(subject)] = at
		p.checkSubject(at, subject, found)
		if factor := o.Multiply[subject]; factor > 1 && factor <= maxLimit {
			top.check(at, factor, found)
		}
	}
}

// canonical is one text for a subject that can be written in several ways.
func canonical(subject string) string {
	if p, ok := subjectPrefix(subject); ok {
		return ipMark + p.String()
	}
	return subject
}

// checkSubject tells of a subject that identity never makes.
func (p *Policy) checkSubject(at, subject string, found *problems) {
	if key, ok := strings.CutPrefix(subject, keyMark); ok && slices.Contains(p.Identity.From, FromAPIKey) && !p.Identity.APIKey.Plain && !isKeyHash(key) {
		sum := sha256.Sum256([]byte(key))
		found.add(at, "never matches: API keys are hashed unless identity.api_key.plain is set; this one's subject is %s%s",
			keyMark, hex.EncodeToString(sum[:keyHexSize/2]))
	}
	most := p.Identity.IP.IPv6Prefix
	if most == 0 {
		most = DefaultIPv6Prefix
	}
	if prefix, ok := subjectPrefix(subject); ok && prefix.Addr().Is6() && prefix.Bits() > most {
		found.add(at, "never matches: a client is a /%d of an IPv6 address", most)
	}
}

func isKeyHash(key string) bool {
	return len(key) == keyHexSize && strings.Trim(key, "0123456789abcdef") == ""
}

// greatest are the limit and the budget that a factor pushes above their bounds first.
type greatest struct {
	limit, budget     int64
	limitAt, budgetAt string
}

func (o *Overrides) greatest(p *Policy) greatest {
	var g greatest
	if len(o.Multiply) == 0 {
		return g
	}
	see := func(at string, limits []Limit) {
		for i, l := range limits {
			if n := max(l.Limit, l.Burst); n > g.limit {
				g.limit, g.limitAt = n, fmt.Sprintf("%s[%d]", at, i)
			}
		}
	}
	see("limits", p.Limits)
	for i := range p.Endpoints {
		see(fmt.Sprintf("endpoints[%d].limits", i), p.Endpoints[i].Limits)
	}
	if p.Cost == nil {
		return g
	}
	for i, b := range p.Cost.Budgets {
		if int64(b.Budget) > g.budget {
			g.budget, g.budgetAt = int64(b.Budget), fmt.Sprintf("cost.budgets[%d]", i)
		}
	}
	return g
}

func (g greatest) check(at string, factor int64, found *problems) {
	if g.limit > maxLimit/factor && g.limit <= maxLimit {
		found.add(at, "makes %s %d, above %d", g.limitAt, g.limit*factor, maxLimit)
	}
	if most := int64(1_000_000_000 * oneUnit); g.budget > most/factor && g.budget <= most {
		found.add(at, "makes %s more than %s", g.budgetAt, Micros(most))
	}
}
