package report

import "slices"

// A Count is how often something happened.
type Count struct {
	Name string `json:"name"`
	N    int64  `json:"n"`
	// Over is how much too high N may be: something took the place of what was counted less.
	Over int64 `json:"over,omitempty"`
}

// A top counts the most frequent names in bounded memory.
type top struct {
	most  int
	index map[string]int // of heap
	heap  []Count        // the least count first
}

func newTop(most int) *top {
	return &top{most: most, index: make(map[string]int, most)}
}

func (t *top) add(name string) {
	i, ok := t.index[name]
	switch {
	case ok:
		t.heap[i].N++
	case len(t.heap) < t.most:
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

// counts are the names by their count, the most frequent first.
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
