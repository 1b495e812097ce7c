package store

// Swap exchanges the keys of two databases. Watches and waiting commands stay where they are.
func (d *DB) Swap(other *DB) {
	if d == other {
		return
	}
	d.touchAll(other)
	other.touchAll(d)
	d.keys, other.keys = other.keys, d.keys
	d.volatile, other.volatile = other.volatile, d.volatile
	d.hand, other.hand = other.hand, d.hand
	d.used, other.used = other.used, d.used
	d.oldest, other.oldest = other.oldest, d.oldest
	d.newest, other.newest = other.newest, d.newest
	d.signalAll()
	other.signalAll()
}

// touchAll touches the watches on keys that are here or will be.
func (d *DB) touchAll(next *DB) {
	for key := range d.watchers {
		if d.keys.get(key) != nil || next.keys.get(key) != nil {
			d.touch(key)
		}
	}
}

func (d *DB) signalAll() {
	for key := range d.awaited {
		if d.keys.get(key) != nil {
			d.signal(key)
		}
	}
}
