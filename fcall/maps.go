package fcall

import (
	"maps"
	"slices"
	"strconv"
)

// AddMap adds the pairs of a map, sorted by key. It calls add for the key and the value of each.
func AddMap[V any](a *Args, name string, m map[string]V, minimum, maximum int64, add func(key string, value V)) {
	a.Rows(name, len(m), minimum, maximum)
	for i, key := range slices.Sorted(maps.Keys(m)) {
		a.Row(i)
		add(key, m[key])
	}
	a.EndRows()
}

// ReadMap reads a map of results. It calls read for the value of each key. A repeated key is a ReplyError.
func ReadMap[V any](r *Reply, name string, read func() V) map[string]V {
	n := r.Rows(name)
	m := make(map[string]V, n)
	for i := range n {
		r.Row(i)
		key := r.Text("key")
		m[key] = read()
	}
	r.EndRows()
	if len(m) != n {
		r.fail(name, "have each key once", strconv.Itoa(n-len(m))+" repeated")
	}
	return m
}
