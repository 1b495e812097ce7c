package command

import (
	"slices"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var lcsCommands = []Command{
	{Name: "lcs", Arity: -3, Flags: ReadOnly, First: 1, Last: 2, Step: 1, Run: lcs},
}

// lcsOptions are the words of LCS.
type lcsOptions struct {
	length, ranges, lengths bool
	shortest                int64 // range to report
}

func parseLCS(words []string) (o lcsOptions, problem reply.Value) {
	for i := 0; i < len(words); i++ {
		switch w := words[i]; {
		case is(w, "idx"):
			o.ranges = true
		case is(w, "len"):
			o.length = true
		case is(w, "withmatchlen"):
			o.lengths = true
		case is(w, "minmatchlen") && i+1 < len(words):
			i++
			n, valid := parseInt(words[i])
			if !valid {
				return o, errNotInt
			}
			o.shortest = n
		default:
			return o, errSyntax
		}
	}
	if o.length && o.ranges {
		return o, failure("ERR If you want both the length and indexes, please just use IDX.")
	}
	return o, okay
}

// lcs is LCS: the longest common subsequence of two strings.
func lcs(c *Call) reply.Value {
	var texts [2]string
	for i, key := range c.Args[1:3] {
		e, fits := c.find(key, store.String)
		if !fits {
			return failure("ERR The specified keys must contain string values")
		}
		if e != nil {
			texts[i] = e.Str
		}
	}
	o, problem := parseLCS(c.Args[3:])
	if problem.Kind == reply.Error {
		return problem
	}
	a, b := texts[0], texts[1]
	if cells := c.State.Limits.Argument.Load() / 4; int64(len(a)+1) > cells/int64(len(b)+1) {
		return failure("ERR Insufficient memory, transient memory for LCS exceeds proto-max-bulk-len")
	}
	t := commonLengths(a, b)
	whole := number(int(t.at(len(a), len(b))))
	if o.length {
		return whole
	}
	common, ranges := t.walk(a, b)
	if !o.ranges {
		return bulk(common)
	}
	var values []reply.Value
	for _, r := range ranges {
		if int64(r.n) < o.shortest {
			continue
		}
		pair := func(from int) reply.Value { return array([]reply.Value{number(from), number(from + r.n - 1)}) }
		value := []reply.Value{pair(r.a), pair(r.b)}
		if o.lengths {
			value = append(value, number(r.n))
		}
		values = append(values, array(value))
	}
	return maps(bulk("matches"), array(values), bulk("len"), whole)
}

// A lengthTable has the length of the longest common subsequence of each two prefixes.
type lengthTable struct {
	cells []uint32
	width int
}

func (t lengthTable) at(i, j int) uint32 { return t.cells[i*t.width+j] }

func commonLengths(a, b string) lengthTable {
	t := lengthTable{make([]uint32, (len(a)+1)*(len(b)+1)), len(b) + 1}
	for i := range len(a) {
		above, row := t.cells[i*t.width:(i+1)*t.width], t.cells[(i+1)*t.width:]
		for j := range len(b) {
			if a[i] == b[j] {
				row[j+1] = above[j] + 1
			} else {
				row[j+1] = max(above[j+1], row[j])
			}
		}
	}
	return t
}

// A commonRange is n bytes from a in one string that are those from b in the other.
type commonRange struct{ a, b, n int }

// walk goes back from the ends: the last range comes first.
func (t lengthTable) walk(a, b string) (common string, ranges []commonRange) {
	var backward []byte
	for i, j := len(a), len(b); i > 0 && j > 0; {
		if a[i-1] == b[j-1] {
			i, j = i-1, j-1
			backward = append(backward, a[i])
			if last := len(ranges) - 1; last >= 0 && ranges[last].a == i+1 && ranges[last].b == j+1 {
				ranges[last] = commonRange{i, j, ranges[last].n + 1}
			} else {
				ranges = append(ranges, commonRange{i, j, 1})
			}
		} else if t.at(i-1, j) > t.at(i, j-1) {
			i--
		} else {
			j--
		}
	}
	slices.Reverse(backward)
	return string(backward), ranges
}
