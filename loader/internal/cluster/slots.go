package cluster

import (
	"slices"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/internal/hashslot"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// TagNumber returns the smallest number whose hash tag, prefix followed by the number, is in one of the slots, and false if
// there are no slots.
func TagNumber(prefix string, owned []SlotRange) (int, bool) {
	if len(owned) == 0 {
		return 0, false
	}
	// The slots of the numbers are spread evenly. An owner of a single slot needs hashslot.Count tries on average; one of e^64 such
	// owners needs more than 64 times as many.
	for n := range 64 * hashslot.Count {
		slot := hashslot.Of(prefix + strconv.Itoa(n))
		for _, r := range owned {
			if r.First <= slot && slot <= r.Last {
				return n, true
			}
		}
	}
	return 0, false
}

// OwnSlots returns the slots that a node owns and does not migrate, from its own CLUSTER NODES. A key of a migrating slot may
// be on either node.
func OwnSlots(text string) ([]SlotRange, error) {
	nodes, err := ParseNodes(text)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(nodes, func(n Node) bool { return n.Is("myself") })
	if i < 0 {
		return nil, resp.FormatError("the list of the cluster's nodes does not say which one is its own")
	}
	moving := map[int]bool{}
	for _, m := range nodes[i].Moving {
		number, _, _ := strings.Cut(m, " ")
		if slot, err := strconv.Atoi(number); err == nil {
			moving[slot] = true
		}
	}
	return exclude(nodes[i].Slots, moving), nil
}

// exclude removes single slots from ranges.
func exclude(ranges []SlotRange, out map[int]bool) []SlotRange {
	if len(out) == 0 {
		return ranges
	}
	var left []SlotRange
	for _, r := range ranges {
		first := r.First
		for slot := r.First; slot <= r.Last; slot++ {
			if out[slot] {
				if first < slot {
					left = append(left, SlotRange{first, slot - 1})
				}
				first = slot + 1
			}
		}
		if first <= r.Last {
			left = append(left, SlotRange{first, r.Last})
		}
	}
	return left
}

// Uncovered returns the number of slots without a working primary, and the first of them.
func Uncovered(nodes []Node) (count, first int) {
	covered := make([]bool, hashslot.Count)
	for _, n := range nodes {
		for _, r := range n.Slots {
			for slot := max(r.First, 0); slot <= min(r.Last, hashslot.Count-1) && !n.Is("fail"); slot++ {
				covered[slot] = true
			}
		}
	}
	for _, c := range covered {
		if !c {
			count++
		}
	}
	return count, slices.Index(covered, false)
}
