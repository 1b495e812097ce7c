package store

import "math/rand/v2"

const maxLevel = 24

// A Node is one member of a sorted set.
type Node struct {
	Member string
	Score  float64
	prev   *Node
	levels []level
}

type level struct {
	next *Node
	span int // members that next is ahead of this node
}

// Next returns the node with the next higher score, or nil.
func (n *Node) Next() *Node { return n.levels[0].next }

// Prev returns the node with the next lower score, or nil.
func (n *Node) Prev() *Node { return n.prev }

func (n *Node) before(score float64, member string) bool {
	return n.Score < score || n.Score == score && n.Member < member
}

// Sorted is a sorted set's content: a map, and a skip list whose links know how far they reach.
type Sorted struct {
	nodes  table[*Node]
	head   *Node // before the first; holds no member
	tail   *Node
	height int
	bytes  int64
}

// NewSorted returns an empty sorted set.
func NewSorted() *Sorted {
	return &Sorted{head: &Node{levels: make([]level, maxLevel)}, height: 1}
}

// Len is the number of members.
func (z *Sorted) Len() int { return z.nodes.len() }

// Score returns a member's score.
func (z *Sorted) Score(member string) (score float64, ok bool) {
	if c := z.nodes.get(member); c != nil {
		return c.val.Score, true
	}
	return 0, false
}

// Set stores a member with its score, which is not NaN.
func (z *Sorted) Set(member string, score float64) {
	c, created := z.nodes.put(member)
	switch {
	case created:
		z.bytes += int64(len(member))
	case c.val.Score == score:
		return
	default:
		z.unlink(c.val)
	}
	c.val = z.link(member, score)
}

// Delete removes a member and reports whether it was there.
func (z *Sorted) Delete(member string) bool {
	c := z.nodes.get(member)
	if c == nil {
		return false
	}
	z.unlink(c.val)
	z.nodes.delete(member)
	z.bytes -= int64(len(member))
	return true
}

// link puts a new node in its place; nodes has its member already.
func (z *Sorted) link(member string, score float64) *Node {
	var path [maxLevel]*Node
	var rank [maxLevel]int
	at, passed := z.head, 0
	for l := z.height - 1; l >= 0; l-- {
		for next := at.levels[l].next; next != nil && next.before(score, member); next = at.levels[l].next {
			passed += at.levels[l].span
			at = next
		}
		path[l], rank[l] = at, passed
	}
	height := 1
	for height < maxLevel && rand.Uint32()&3 == 0 {
		height++
	}
	for l := z.height; l < height; l++ {
		path[l], rank[l] = z.head, 0
		z.head.levels[l].span = z.nodes.len() - 1
	}
	z.height = max(z.height, height)

	n := &Node{Member: member, Score: score, levels: make([]level, height)}
	for l := range height {
		link := &path[l].levels[l]
		n.levels[l] = level{next: link.next, span: link.span - (passed - rank[l])}
		*link = level{next: n, span: passed - rank[l] + 1}
	}
	for l := height; l < z.height; l++ {
		path[l].levels[l].span++
	}
	if at != z.head {
		n.prev = at
	}
	if next := n.Next(); next != nil {
		next.prev = n
	} else {
		z.tail = n
	}
	return n
}

func (z *Sorted) unlink(n *Node) {
	at := z.head
	for l := z.height - 1; l >= 0; l-- {
		for next := at.levels[l].next; next != nil && next != n && next.before(n.Score, n.Member); next = at.levels[l].next {
			at = next
		}
		link := &at.levels[l]
		if link.next == n {
			*link = level{next: n.levels[l].next, span: link.span + n.levels[l].span - 1}
		} else {
			link.span--
		}
	}
	if next := n.Next(); next != nil {
		next.prev = n.prev
	} else {
		z.tail = n.prev
	}
	for z.height > 1 && z.head.levels[z.height-1].next == nil {
		z.height--
	}
}

// Rank returns how many members come before this one, or false if it is not there.
func (z *Sorted) Rank(member string) (int, bool) {
	c := z.nodes.get(member)
	if c == nil {
		return 0, false
	}
	return z.rank(c.val), true
}

func (z *Sorted) rank(n *Node) int {
	at, passed := z.head, 0
	for l := z.height - 1; l >= 0; l-- {
		for next := at.levels[l].next; next != nil && next.before(n.Score, n.Member); next = at.levels[l].next {
			passed += at.levels[l].span
			at = next
		}
	}
	return passed
}

// At returns the node with this rank, or nil.
func (z *Sorted) At(rank int) *Node {
	if rank < 0 || rank >= z.nodes.len() {
		return nil
	}
	at, left := z.head, rank+1
	for l := z.height - 1; l >= 0; l-- {
		for at.levels[l].next != nil && at.levels[l].span <= left {
			left -= at.levels[l].span
			at = at.levels[l].next
		}
	}
	return at
}

// A Range selects neighbouring members.
type Range interface {
	Below(n *Node) bool // n comes before the range
	Above(n *Node) bool // n comes after the range
}

// First returns the lowest node of the range, or nil.
func (z *Sorted) First(r Range) *Node {
	n := z.last(r.Below)
	if n == nil {
		n = z.head
	}
	if n = n.Next(); n == nil || r.Above(n) {
		return nil
	}
	return n
}

// Last returns the highest node of the range, or nil.
func (z *Sorted) Last(r Range) *Node {
	n := z.last(func(n *Node) bool { return !r.Above(n) })
	if n == nil || r.Below(n) {
		return nil
	}
	return n
}

// last returns the last node for which before holds, where it holds for the front of the set and for no more.
func (z *Sorted) last(before func(*Node) bool) *Node {
	at := z.head
	for l := z.height - 1; l >= 0; l-- {
		for next := at.levels[l].next; next != nil && before(next); next = at.levels[l].next {
			at = next
		}
	}
	if at == z.head {
		return nil
	}
	return at
}

// Count is the number of members in the range.
func (z *Sorted) Count(r Range) int {
	first := z.First(r)
	if first == nil {
		return 0
	}
	return z.rank(z.Last(r)) - z.rank(first) + 1
}

// Scores selects by score.
type Scores struct {
	Min, Max                   float64
	MinExclusive, MaxExclusive bool
}

// Below implements Range.
func (s Scores) Below(n *Node) bool {
	return n.Score < s.Min || s.MinExclusive && n.Score == s.Min
}

// Above implements Range.
func (s Scores) Above(n *Node) bool {
	return n.Score > s.Max || s.MaxExclusive && n.Score == s.Max
}

// A LexBound is one end of a range by member. The zero value is an inclusive empty string.
type LexBound struct {
	Member    string
	Exclusive bool
	Infinite  int // -1 before every member, +1 after every member
}

// Lexes selects by member, among members of the same score.
type Lexes struct{ Min, Max LexBound }

// Below implements Range.
func (x Lexes) Below(n *Node) bool {
	if x.Min.Infinite != 0 {
		return x.Min.Infinite > 0
	}
	return n.Member < x.Min.Member || x.Min.Exclusive && n.Member == x.Min.Member
}

// Above implements Range.
func (x Lexes) Above(n *Node) bool {
	if x.Max.Infinite != 0 {
		return x.Max.Infinite < 0
	}
	return n.Member > x.Max.Member || x.Max.Exclusive && n.Member == x.Max.Member
}

// Highest returns the last node, or nil.
func (z *Sorted) Highest() *Node { return z.tail }

// Scan visits up to count members from cursor on and returns the next cursor, 0 at the end. A small set is returned whole, by rank.
func (z *Sorted) Scan(cursor uint64, count int, visit func(*Node)) uint64 {
	if cursor == 0 && z.Len() <= smallTable {
		for n := z.At(0); n != nil; n = n.Next() {
			visit(n)
		}
		return 0
	}
	return z.nodes.scan(cursor, count, func(c *cell[*Node]) { visit(c.val) })
}
