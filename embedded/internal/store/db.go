// Package store holds keys and their values in memory, with expiry in milliseconds on a clock that the caller reads.
//
// Nothing in it locks, and no call reads a clock: the caller serialises the calls and gives the time.
package store

// A DB is one numbered database. Its zero value is empty and ready.
type DB struct {
	keys     table[Entry]
	volatile int // keys with an expiry
	hand     int // where the sweep goes on
	used     int64
	expired  int64
	evicted  int64
	watchers map[string]map[*Watch]struct{}

	oldest, newest *cell[Entry] // by use
}

// A Watch learns whether a key that it was put on has changed.
type Watch struct{ Touched bool }

// Len is the number of keys, counting those that have expired and were not yet removed.
func (d *DB) Len() int { return d.keys.len() }

// Volatile is how many of them have an expiry.
func (d *DB) Volatile() int { return d.volatile }

// Used is the approximate number of bytes that the keys take.
func (d *DB) Used() int64 { return d.used }

// Expired is how many keys have been removed because their time had come.
func (d *DB) Expired() int64 { return d.expired }

// Get returns the entry of key, or nil. A key is expired once now is later than its expiry; it is removed then.
func (d *DB) Get(key string, now int64) *Entry {
	c := d.keys.get(key)
	if c == nil {
		return nil
	}
	if now > c.val.Expire {
		d.expire(c)
		return nil
	}
	d.use(c)
	return &c.val
}

func (d *DB) expire(c *cell[Entry]) {
	d.expired++
	d.Delete(c.key)
}

// SetString stores a string, whatever key held before, and its expiry.
func (d *DB) SetString(key, value string, expire int64) {
	c, created := d.keys.put(key)
	e := &c.val
	if created {
		e.Expire = Never
	} else if e.Kind != String {
		*e = Entry{Expire: e.Expire, size: e.size, older: e.older, newer: e.newer}
	}
	d.use(c)
	e.Kind, e.Str = String, value
	d.SetExpire(e, expire)
	d.Changed(key, e)
}

// Create puts an empty value of the given kind, without expiry, in place of whatever key held.
// The caller fills it and then calls Changed.
func (d *DB) Create(key string, kind Kind) *Entry {
	e := newEntry(kind)
	return d.Put(key, e)
}

// Put stores a whole entry in place of whatever key held.
func (d *DB) Put(key string, e Entry) *Entry {
	c, created := d.keys.put(key)
	if !created && c.val.Expire != Never {
		d.volatile--
	}
	e.size, e.older, e.newer = c.val.size, c.val.older, c.val.newer
	c.val = e
	d.use(c)
	if e.Expire != Never {
		d.volatile++
	}
	d.Changed(key, &c.val)
	return &c.val
}

// SetExpire sets when the entry ends; Never takes the expiry away.
func (d *DB) SetExpire(e *Entry, when int64) {
	if (e.Expire == Never) != (when == Never) {
		if when == Never {
			d.volatile--
		} else {
			d.volatile++
		}
	}
	e.Expire = when
}

// Changed records a write to the entry of key: it updates the size and notifies the watchers.
// A collection without elements is removed.
func (d *DB) Changed(key string, e *Entry) {
	size := e.bytes(key)
	d.used += size - e.size
	e.size = size
	if d.watchers != nil {
		d.touch(key)
	}
}

// Written is Changed for a collection that may have become empty: then its key is removed.
func (d *DB) Written(key string, e *Entry) {
	if e.Empty() {
		d.Delete(key)
		return
	}
	d.Changed(key, e)
}

// Delete removes key and reports whether it was there.
func (d *DB) Delete(key string) bool {
	c := d.keys.get(key)
	if c == nil {
		return false
	}
	if c.val.Expire != Never {
		d.volatile--
	}
	d.used -= c.val.size
	d.unlink(c)
	d.keys.delete(key)
	if d.watchers != nil {
		d.touch(key)
	}
	return true
}

// Flush removes all keys.
func (d *DB) Flush() {
	for key := range d.watchers {
		if d.keys.get(key) != nil {
			d.touch(key)
		}
	}
	d.keys = table[Entry]{}
	d.volatile, d.hand, d.used = 0, 0, 0
	d.oldest, d.newest = nil, nil
}

// Scan visits up to count keys from cursor on and returns the next cursor, 0 at the end. Expired keys are left out.
func (d *DB) Scan(cursor uint64, count int, now int64, visit func(key string, e *Entry)) uint64 {
	return d.keys.scan(cursor, count, func(c *cell[Entry]) {
		if now <= c.val.Expire {
			visit(c.key, &c.val)
		}
	})
}

// Each visits all keys that have not expired.
func (d *DB) Each(now int64, visit func(key string, e *Entry)) {
	for _, c := range d.keys.order {
		if now <= c.val.Expire {
			visit(c.key, &c.val)
		}
	}
}

// Sweep looks at the next n keys in turn and removes those that have expired.
// Called with a few keys a write, it keeps the dead from outnumbering the living, at a cost that is bounded per call.
func (d *DB) Sweep(n int, now int64) {
	if d.volatile == 0 {
		return
	}
	for range min(n, d.keys.len()) {
		if d.hand <= 0 || d.hand > d.keys.len() {
			if d.hand = d.keys.len(); d.hand == 0 {
				return
			}
		}
		d.hand--
		if c := d.keys.order[d.hand]; now > c.val.Expire {
			d.expire(c)
		}
	}
}

// Watch puts w on key and reports whether it was not there before.
func (d *DB) Watch(key string, w *Watch) bool {
	if d.watchers == nil {
		d.watchers = make(map[string]map[*Watch]struct{})
	}
	if d.watchers[key] == nil {
		d.watchers[key] = make(map[*Watch]struct{})
	}
	if _, there := d.watchers[key][w]; there {
		return false
	}
	d.watchers[key][w] = struct{}{}
	return true
}

// Unwatch takes w off key.
func (d *DB) Unwatch(key string, w *Watch) {
	delete(d.watchers[key], w)
	if len(d.watchers[key]) == 0 {
		delete(d.watchers, key)
	}
	if len(d.watchers) == 0 {
		d.watchers = nil
	}
}

func (d *DB) touch(key string) {
	for w := range d.watchers[key] {
		w.Touched = true
	}
}

// Evicted is how many keys have been removed to make room.
func (d *DB) Evicted() int64 { return d.evicted }

// Evict removes the key that was used least recently, and reports whether there was one.
func (d *DB) Evict() bool {
	if d.oldest == nil {
		return false
	}
	d.evicted++
	return d.Delete(d.oldest.key)
}

// use makes a key the one that was used last.
func (d *DB) use(c *cell[Entry]) {
	if c == d.newest {
		return
	}
	d.unlink(c)
	c.val.older = d.newest
	if d.newest == nil {
		d.oldest = c
	} else {
		d.newest.val.newer = c
	}
	d.newest = c
}

// unlink takes a key out of the order of use; one that is not in it stays out.
func (d *DB) unlink(c *cell[Entry]) {
	older, newer := c.val.older, c.val.newer
	if older != nil {
		older.val.newer = newer
	} else if d.oldest == c {
		d.oldest = newer
	}
	if newer != nil {
		newer.val.older = older
	} else if d.newest == c {
		d.newest = older
	}
	c.val.older, c.val.newer = nil, nil
}
