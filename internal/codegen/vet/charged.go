package vet

import "github.com/rlfunc/rlfunc/codegen/spec"

// adds are commands that add to a key unless it has the element, which they count as a change if their reply is dropped.
var adds = set("SADD PFADD HSETNX")

// states are commands that say nothing of how much a key holds.
var states = set("EXISTS TYPE ZSCORE ZMSCORE ZRANK ZREVRANK SISMEMBER SMISMEMBER HEXISTS GETBIT LPOS")

// charges notes that a command has changed a key: what the call reads from it from now on counts the change. If the call has read how much the
// key holds before, it may have decided by that.
func (r *run) charges(s *state, name string, args []value, keys []int) {
	if len(keys) == 0 || len(args[keys[0]].keys()) != 1 || args[keys[0]].lenient {
		return
	}
	key, before := args[keys[0]].keys()[0], s.charged
	if before == nil && s.stays {
		before = &charge{}
	}
	if c := before.of(key); c == nil {
		s.charged = &charge{key: key, by: name, decided: r.counted[key], before: before}
	} else if c == before {
		s.charged = &charge{key: key, by: name, decided: c.decided, before: c.before}
	}
}

// A charge is what a path has added to a key, so that its counts have it.
type charge struct {
	key     string // "" if it is unknown
	by      string // the last command
	decided bool   // the call has read before how much the key holds
	before  *charge
}

// of returns the charge of a key, or nil.
func (c *charge) of(key string) *charge {
	for ; c != nil; c = c.before {
		if c.key == key {
			return c
		}
	}
	return nil
}

// and returns the charge of two paths that have been joined, or of two parts of one.
func (c *charge) and(other *charge) *charge {
	switch {
	case c == other || c != nil && other != nil && *c == *other:
		return c
	case c == nil || other == nil || c.key != other.key || c.before != nil || other.before != nil:
		return &charge{}
	}
	return &charge{key: c.key, decided: c.decided || other.decided}
}

// then returns the charges of two parts of a path.
func (c *charge) then(other *charge) *charge {
	switch {
	case c == nil:
		return other
	case other == nil:
		return c
	case c.key == other.key && c.before == nil && other.before == nil:
		return &charge{key: c.key, by: other.by, decided: c.decided || other.decided}
	}
	return &charge{key: other.key, by: other.by, decided: other.decided, before: c}
}

// on returns the charge of one of a command's keys, or nil.
func (c *charge) on(args []value, keys []int) *charge {
	for _, i := range keys {
		if own := args[i].keys(); c != nil && len(own) == 1 {
			if found := c.of(own[0]); found != nil {
				return found
			}
		}
	}
	return nil
}

// removes maps commands with which a call takes back what it has added to the command that adds, or to none if it may be any.
var removes = map[string]string{
	"ZREM": "", "SREM": "", "HDEL": "", "LREM": "", "LTRIM": "", "ZREMRANGEBYRANK": "", "DEL": "", "UNLINK": "", "XDEL": "", "XTRIM": "", "RPOP": "RPUSH", "LPOP": "LPUSH",
}

// takenBackBy reports whether a command may take back what the path has added.
func (c *charge) takenBackBy(name string, args []value, keys []int) bool {
	by, ok := removes[name]
	return ok && c != nil && c.before == nil && (by == "" || by == c.by) && c.on(args, keys) != nil
}

// exceeds returns what a comparison says of a count that has what the call has added, and a limit: with this truth, it is above.
func exceeds(operator string, a, b value) *order {
	if a.taint&increased == 0 {
		a, b, operator = b, a, mirrored[operator]
	}
	limit := b.name() != "" || b.span() != "" || len(b.reply) > 0 && !overlaps(a.reply, b.reply)
	if a.taint&increased == 0 || b.taint&increased != 0 || !limit || operator == "==" || operator == "~=" {
		return nil
	}
	return &order{over: true, truth: operator[0] == '>'}
}

// over reports whether a result says that the call is refused because a count has passed a limit, what the call has added included.
func (r *run) over(s *state, i int, result spec.Field, v value) bool {
	by := r.spec.Refused
	if by == nil && i > 0 || by != nil && by.Result != result.Name || s.first == nil {
		return false
	}
	if result.Kind == spec.KindBool {
		o := v.order()
		return v.only(isFalse) && s.over || v.may(isFalse) && o != nil && o.over && !o.truth
	}
	n, ok := v.number()
	return by == nil && s.over && result.Kind == spec.KindCount && ok && n == 0 && len(r.spec.Results) > 1
}
