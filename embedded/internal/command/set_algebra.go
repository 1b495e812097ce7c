package command

import (
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// sets looks up the sets of these keys; a missing one is empty.
func (c *Call) sets(keys []string) (found []*store.Members, fits bool) {
	for _, key := range keys {
		e, fits := c.find(key, store.Set)
		switch {
		case !fits:
			return nil, false
		case e == nil:
			found = append(found, &store.Members{})
		default:
			found = append(found, e.Set)
		}
	}
	return found, true
}

func unite(sets []*store.Members) *store.Members {
	all := &store.Members{}
	for _, s := range sets {
		s.Each(func(member string) { all.Add(member) })
	}
	return all
}

func intersect(sets []*store.Members) *store.Members {
	return keep(sets, func(s *store.Members, member string) bool { return s.Has(member) })
}

func subtract(sets []*store.Members) *store.Members {
	return keep(sets, func(s *store.Members, member string) bool { return !s.Has(member) })
}

// keep takes those members of the first set that pass for each of the others.
func keep(sets []*store.Members, passes func(s *store.Members, member string) bool) *store.Members {
	kept := &store.Members{}
	sets[0].Each(func(member string) {
		for _, s := range sets[1:] {
			if !passes(s, member) {
				return
			}
		}
		kept.Add(member)
	})
	return kept
}

func (c *Call) combine(how func([]*store.Members) *store.Members) reply.Value {
	found, fits := c.sets(c.Args[1:])
	if !fits {
		return errWrongType
	}
	return members(how(found))
}

func sinter(c *Call) reply.Value { return c.combine(intersect) }
func sunion(c *Call) reply.Value { return c.combine(unite) }
func sdiff(c *Call) reply.Value  { return c.combine(subtract) }

func (c *Call) storeSet(how func([]*store.Members) *store.Members) reply.Value {
	found, fits := c.sets(c.Args[2:])
	if !fits {
		return errWrongType
	}
	return c.keep(c.Args[1], store.Entry{Kind: store.Set, Set: how(found)})
}
