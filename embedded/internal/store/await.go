package store

import "slices"

// Await makes changes of key known to Ready, until as many calls of Unawait.
func (d *DB) Await(key string) {
	if d.awaited == nil {
		d.awaited = make(map[string]int)
	}
	d.awaited[key]++
}

// Unawait undoes one Await.
func (d *DB) Unawait(key string) {
	if d.awaited[key]--; d.awaited[key] <= 0 {
		delete(d.awaited, key)
	}
	if len(d.awaited) == 0 {
		d.awaited, d.ready = nil, nil
	}
}

// Ready takes the next awaited key that has changed.
func (d *DB) Ready() (key string, ok bool) {
	if len(d.ready) == 0 {
		return "", false
	}
	key = d.ready[0]
	d.ready = d.ready[1:]
	return key, true
}

func (d *DB) signal(key string) {
	if d.awaited[key] > 0 && !slices.Contains(d.ready, key) {
		d.ready = append(d.ready, key)
	}
}
