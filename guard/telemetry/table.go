package telemetry

import (
	"iter"
	"maps"
	"sync"
	"sync/atomic"
)

// A table creates and keeps one value for each key. Reads take no lock. The names of the policy bound the number of keys.
type table[K comparable, V any] struct {
	values atomic.Pointer[map[K]V]
	create func(K) V
	mu     sync.Mutex
}

func newTable[K comparable, V any](create func(K) V) *table[K, V] {
	t := &table[K, V]{create: create}
	t.values.Store(new(map[K]V))
	return t
}

func (t *table[K, V]) of(key K) V {
	if v, ok := (*t.values.Load())[key]; ok {
		return v
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	old := *t.values.Load()
	if v, ok := old[key]; ok {
		return v
	}
	values := make(map[K]V, len(old)+1)
	maps.Copy(values, old)
	values[key] = t.create(key)
	t.values.Store(&values)
	return values[key]
}

func (t *table[K, V]) all() iter.Seq[V] { return maps.Values(*t.values.Load()) }
