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
