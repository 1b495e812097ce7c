package telemetry

import (
	"iter"
	"maps"
	"sync"
	"sync/atomic"
)

// A table keeps what is made once for a key. Reading takes no lock; keys are few, as the policy's names bound them.
type table[K comparable, V any] struct {
	made atomic.Pointer[map[K]V]
	make func(K) V
	mu   sync.Mutex
}

func newTable[K comparable, V any](of func(K) V) *table[K, V] {
	t := &table[K, V]{make: of}
	t.made.Store(new(map[K]V))
	return t
}

func (t *table[K, V]) of(key K) V {
	if v, ok := (*t.made.Load())[key]; ok {
		return v
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	had := *t.made.Load()
	if v, ok := had[key]; ok {
		return v
	}
	more := make(map[K]V, len(had)+1)
	maps.Copy(more, had)
	more[key] = t.make(key)
	t.made.Store(&more)
	return more[key]
}

func (t *table[K, V]) all() iter.Seq[V] { return maps.Values(*t.made.Load()) }
