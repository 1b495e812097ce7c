package store

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDeque_agreesWithSlice(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	q, model := &Deque{}, []string{}
	for step := range 20_000 {
		value := fmt.Sprint(step)
		switch op := r.IntN(8); {
		case op < 2:
			q.PushFront(value)
			model = slices.Insert(model, 0, value)
		case op < 4:
			q.PushBack(value)
			model = append(model, value)
		case len(model) == 0:
		case op == 4:
			if got := q.PopFront(); got != model[0] {
				t.Fatalf("step %d: PopFront() = %s, want %s", step, got, model[0])
			}
			model = model[1:]
		case op == 5:
			if got, want := q.PopBack(), model[len(model)-1]; got != want {
				t.Fatalf("step %d: PopBack() = %s, want %s", step, got, want)
			}
			model = model[:len(model)-1]
		case op == 6:
			i := r.IntN(len(model))
			q.Set(i, value)
			model[i] = value
		default:
			i := r.IntN(len(model))
			q.Insert(i, value)
			model = slices.Insert(model, i, value)
		}
		if step%1000 == 0 {
			if diff := cmp.Diff(model, q.all()); diff != "" {
				t.Fatalf("step %d: elements (-want +got):\n%s", step, diff)
			}
		}
	}
	bytes := int64(0)
	for _, s := range model {
		bytes += int64(len(s))
	}
	if q.bytes != bytes {
		t.Errorf("bytes = %d, want %d", q.bytes, bytes)
	}
}
