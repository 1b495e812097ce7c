package vet

// counting are commands that return how much a key holds, and elements those of them whose reply a trim bounds.
var (
	counting = set("SCARD HLEN LLEN ZCARD XLEN ZCOUNT ZLEXCOUNT STRLEN PFCOUNT BITCOUNT LPUSH RPUSH")
	elements = set("LLEN ZCARD XLEN ZCOUNT ZLEXCOUNT")
)

// heldIn returns the range of a count of what a key holds. Unless the call has trimmed the key or compared such a count, another call with a
// greater limit may have let in as much as any.
func (s *state) heldIn(name string, args []value) interval {
	in := nonNegative
	if len(args) == 0 || len(args[0].keys()) != 1 || !counting[name] {
		return in
	}
	switch most := s.ttl.at(args[0].keys()[0]).most; {
	case most == 0:
		in.ends = countEnd
	case most > 0 && elements[name]:
		in = between(0, float64(most))
		in.ends = highEnd
	}
	return in
}

// trimmed notes how many elements a command leaves in its keys at most. Code that reads an element behind the trim may know that there are fewer, so
// the number is then unknown, as it is once the call adds others.
func (s *state) trimmed(cmd *command, args []value, keys []int) {
	left := leftBy(cmd.name, args)
	for _, i := range keys {
		for _, key := range args[i].keys() {
			t := s.ttl.at(key)
			most := t.most
			switch {
			case left != 0:
				most = left
			case cmd.write && cmd.expiry == empties && cmd.name != "ZREMRANGEBYSCORE":
				if most == 0 {
					most = -1
				}
			case most > 0 && (cmd.write && cmd.expiry == growsKey || states[cmd.name]):
				most = -1
			}
			few := t.few || cmd.name == "LTRIM" && trims(args)
			if most != t.most || few != t.few {
				t.most, t.few = most, few
				s.ttl = s.ttl.with(key, t)
			}
		}
	}
}

// leftBy returns how many elements a command that trims a key leaves at most: -1 if that is unknown, and 0 if it trims none.
func leftBy(name string, args []value) int32 {
	number := func(i int) float64 {
		if n, ok := valueAt(args, i).number(); ok {
			return n
		}
		return 0.5
	}
	left := 0.5
	switch name {
	case "LTRIM":
		if from, to := number(1), number(2); from == 0 && to >= 0 {
			left = to + 1
		} else if from < 0 && to == -1 {
			left = -from
		}
	case "ZREMRANGEBYRANK":
		if from, to := number(1), number(2); from == 0 && to < 0 {
			left = -to - 1
		} else if from > 0 && to == -1 {
			left = from
		}
	case "XTRIM", "XADD":
		i := wordAt(args, "MAXLEN")
		switch {
		case i < 0 && name == "XADD":
			return 0
		case i < 0:
			return -1
		case literal(valueAt(args, i+1)) == "=":
			i++
		}
		left = number(i + 1)
	default:
		return 0
	}
	if left >= 1 && left <= mostTurns && left == float64(int32(left)) {
		return int32(left)
	}
	return -1
}

// countMet notes that a comparison has a count of what keys hold: another count of it is related to what it was compared with.
func (s *state) countMet(lists ...[]string) {
	for _, keys := range lists {
		for _, key := range keys {
			if t := s.ttl.at(key); t.most == 0 {
				t.most = -1
				s.ttl = s.ttl.with(key, t)
			}
		}
	}
}

// eitherMost returns what is known of a key on two paths that have been joined.
func eitherMost(a, b int32) int32 {
	if a == b {
		return a
	}
	return -1
}
