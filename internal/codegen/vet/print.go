package vet

import "slices"

// A print is a hash of the properties by which rules distinguish paths. It is FNV-1a, so a source has the same findings in every run
// and on every machine. Paths whose prints collide are joined.
type print uint64

const (
	printBegin print = 14695981039346656037
	printPrime print = 1099511628211
)

func (p print) number(n int) print {
	p ^= print(n)
	p *= printPrime
	return p ^ p>>29
}

func (p print) word(s string) print {
	for i := range len(s) {
		p = (p ^ print(s[i])) * printPrime
	}
	return p.number(len(s))
}

func (p print) words(list []string) print {
	p = p.number(len(list))
	for _, s := range list {
		p = p.word(s)
	}
	return p
}

func (p print) flag(b bool) print {
	if b {
		return p.number(1)
	}
	return p.number(2)
}

// finest is the greatest depth of tables in a print.
const finest = 1

// print is equal for paths that no rule distinguishes. At less than the finest depth, it is also equal for paths that differ only inside
// tables. A map's entries are summed, so their order does not matter.
func (s *state) print(extra []value, depth int) print {
	var sum print
	for _, e := range s.env {
		sum += s.printValue(printBegin.number(e.id), *e.v, depth)
	}
	for _, path := range s.paths {
		sum += s.printValue(printBegin.word(path.name), *path.v, max(depth-1, 0))
	}
	for _, key := range s.ttl {
		if len(key.v.pending) > 0 { // an expiry alone does not keep paths apart: the value that gave a proof can give it again
			sum += printBegin.word(key.name)
		}
	}
	p := sum.number(int(min(s.times, 2))).flag(s.raised)
	for _, v := range extra {
		p = s.printValue(p, v, depth)
	}
	return p
}

func (s *state) printValue(p print, v value, depth int) print {
	kinds := v.kinds
	if kinds&(isInt|isNum) != 0 {
		kinds |= isInt | isNum
	}
	p = p.number(int(kinds)).flag(v.lenient).number(int(v.taint &^ (stored | ofNumbers | packs)))
	for _, key := range v.keys() {
		p = p.word(key)
	}
	if v.only(isStr) && v.literal != nil {
		p = p.word(*v.literal)
	}
	if depth == 0 || len(v.objects) == 0 {
		return p
	}
	var shapes []print // of its tables, without duplicates
	for _, id := range v.objects {
		if o := s.get(id); o != nil {
			if shape := s.shapeOf(o, depth-1); !slices.Contains(shapes, shape) {
				shapes = append(shapes, shape)
			}
		}
	}
	var sum print
	for _, shape := range shapes {
		sum += shape
	}
	return p.number(int(sum))
}

// shapeOf returns printObject's result, which at depth 0 does not change.
func (s *state) shapeOf(o *object, depth int) print {
	if depth > 0 {
		return s.printObject(o, depth)
	}
	if o.shape == 0 {
		o.shape = s.printObject(o, 0)
	}
	return o.shape
}

func (s *state) printObject(o *object, depth int) print {
	sum := printBegin
	for _, f := range o.fields {
		sum = s.printValue(sum.word(f.name), *f.v, depth)
	}
	if o.elem != nil {
		sum += s.printValue(printBegin, *o.elem, depth)
	}
	return sum.number(len(o.fields))
}
