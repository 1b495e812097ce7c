package command

import (
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

type rangeKind int

const (
	byRank rangeKind = iota
	byScore
	byLex
)

// rangeOptions say which members of a sorted set a command is about.
type rangeOptions struct {
	by         rangeKind
	free       bool // BYSCORE, BYLEX and REV may be given
	store      bool // no WITHSCORES
	reverse    bool
	withScores bool

	limited       bool
	offset, limit int64

	start, stop int64       // byRank
	bounds      store.Range // byScore, byLex
}

func (o rangeOptions) parse(from, to string, words []string) (rangeOptions, reply.Value) {
	o.limit = -1
	for ; len(words) > 0; words = words[1:] {
		switch w := words[0]; {
		case is(w, "withscores") && !o.store:
			o.withScores = true
		case is(w, "limit") && len(words) > 2:
			var first, second bool
			o.offset, first = parseInt(words[1])
			o.limit, second = parseInt(words[2])
			if !first || !second {
				return o, errNotInt
			}
			o.limited = true
			words = words[2:]
		case is(w, "rev") && o.free && !o.reverse:
			o.reverse = true
		case is(w, "bylex") && o.free && o.by == byRank:
			o.by = byLex
		case is(w, "byscore") && o.free && o.by == byRank:
			o.by = byScore
		default:
			return o, errSyntax
		}
	}
	switch {
	case o.limited && o.limit != -1 && o.by == byRank:
		return o, failure("ERR syntax error, LIMIT is only supported in combination with either BYSCORE or BYLEX")
	case o.withScores && o.by == byLex:
		return o, failure("ERR syntax error, WITHSCORES not supported in combination with BYLEX")
	}
	if o.reverse && o.by != byRank {
		from, to = to, from
	}
	problem := o.ends(from, to)
	return o, problem
}

// ends reads the two ends of the range, the lower first.
func (o *rangeOptions) ends(from, to string) reply.Value {
	var first, second bool
	switch o.by {
	case byRank:
		o.start, first = parseInt(from)
		o.stop, second = parseInt(to)
		if !first || !second {
			return errNotInt
		}
	case byScore:
		var s store.Scores
		s.Min, s.MinExclusive, first = scoreEnd(from)
		s.Max, s.MaxExclusive, second = scoreEnd(to)
		if !first || !second {
			return errMinMax
		}
		o.bounds = s
	case byLex:
		var x store.Lexes
		x.Min, first = lexEnd(from)
		x.Max, second = lexEnd(to)
		if !first || !second {
			return errLex
		}
		o.bounds = x
	}
	return okay
}

func scoreEnd(s string) (f float64, exclusive, valid bool) {
	s, exclusive = strings.CutPrefix(s, "(")
	if s = cText(s); s == "" {
		return 0, exclusive, true // as C's strtod reads it
	}
	if f, valid = parseFloat(s); !valid {
		f, valid = beyondDouble(s)
	}
	return f, exclusive, valid
}

func lexEnd(s string) (store.LexBound, bool) {
	switch {
	case s == "-":
		return store.LexBound{Infinite: -1}, true
	case s == "+":
		return store.LexBound{Infinite: 1}, true
	case strings.HasPrefix(s, "["):
		return store.LexBound{Member: s[1:]}, true
	case strings.HasPrefix(s, "("):
		return store.LexBound{Member: s[1:], Exclusive: true}, true
	}
	return store.LexBound{}, false
}

// visit walks the members in the order of the reply.
func (o rangeOptions) visit(z *store.Sorted, take func(*store.Node)) {
	if o.by == byRank {
		o.visitRanks(z, take)
		return
	}
	if o.offset < 0 {
		return
	}
	n, next, past := z.First(o.bounds), (*store.Node).Next, o.bounds.Above
	if o.reverse {
		n, next, past = z.Last(o.bounds), (*store.Node).Prev, o.bounds.Below
	}
	left := o.limit
	for skip := o.offset; n != nil && left != 0 && !past(n); n = next(n) {
		if skip > 0 {
			skip--
			continue
		}
		take(n)
		left--
	}
}

func (o rangeOptions) visitRanks(z *store.Sorted, take func(*store.Node)) {
	from, to := bounds(o.start, o.stop, z.Len())
	if from == to {
		return
	}
	n, next := z.At(from), (*store.Node).Next
	if o.reverse {
		n, next = z.At(z.Len()-1-from), (*store.Node).Prev
	}
	for range to - from {
		take(n)
		n = next(n)
	}
}
