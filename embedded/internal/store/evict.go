package store

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
