package store

// Swap exchanges the keys of two databases. Watches and waiting commands stay where they are.
func (d *DB) Swap(other *DB, now int64) {
	if d == other {
		return
	}
	d.expireWatched(other, now)
	other.expireWatched(d, now)
	d.touchAll(other)
	other.touchAll(d)
	d.signalAll(other)
	other.signalAll(d)
	d.keys, other.keys = other.keys, d.keys
	d.volatile, other.volatile = other.volatile, d.volatile
	d.hand, other.hand = other.hand, d.hand
	d.used, other.used = other.used, d.used
	d.oldest, other.oldest = other.oldest, d.oldest
	d.newest, other.newest = other.newest, d.newest
}

// expireWatched removes expired keys that are watched here, from both: a key that is replaced by an expired one has not changed, if there was none.
func (d *DB) expireWatched(other *DB, now int64) {
	for key := range d.watchers {
		d.Get(key, now)
		other.Get(key, now)
	}
}

// touchAll touches the watches on keys that are here or will be.
func (d *DB) touchAll(next *DB) {
	for key := range d.watchers {
		if d.keys.get(key) != nil || next.keys.get(key) != nil {
			d.touch(key)
		}
	}
}

// signalAll signals the awaited keys that are here or will be.
func (d *DB) signalAll(next *DB) {
	for key := range d.awaited {
		if d.keys.get(key) != nil || next.keys.get(key) != nil {
			d.signal(key)
		}
	}
}
