package report

import "slices"

// A Count is the number of refusals of a subject or by a limit.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"n"`              // at most Over too high, never too low
	Over int64  `json:"over,omitempty"` // count of the name that this one replaced
}

// A top counts the most frequent names in bounded memory.
type top struct {
	max   int
	index map[string]int // index in heap
	heap  []Count        // lowest count first
}

func newTop(maxNames int) *top {
	return &top{max: maxNames, index: make(map[string]int, maxNames)}
}

func (t *top) add(name string) {
	i, ok := t.index[name]
	switch {
	case ok:
		t.heap[i].N++
	case len(t.heap) < t.max:
		t.heap = append(t.heap, Count{Name: name, N: 1})
		i = len(t.heap) - 1
		t.index[name] = i
		t.up(i)
		return
	default:
		i = 0
		least := t.heap[0]
		delete(t.index, least.Name)
		t.heap[0] = Count{Name: name, N: least.N + 1, Over: least.N}
		t.index[name] = 0
	}
	t.down(i)
}

// counts returns the names by count, highest first.
func (t *top) counts() []Count {
	all := slices.Clone(t.heap)
	sortCounts(all)
	return all
}

func (t *top) up(i int) {
	for i > 0 && t.heap[i].N < t.heap[(i-1)/2].N {
		t.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
}

func (t *top) down(i int) {
	for {
		least := i
		for child := 2*i + 1; child <= 2*i+2 && child < len(t.heap); child++ {
			if t.heap[child].N < t.heap[least].N {
				least = child
			}
		}
		if least == i {
			return
		}
		t.swap(i, least)
		i = least
	}
}

func (t *top) swap(i, j int) {
	t.heap[i], t.heap[j] = t.heap[j], t.heap[i]
	t.index[t.heap[i].Name], t.index[t.heap[j].Name] = i, j
}
