package fcall

import "strconv"

// A keyCount is the third word of a call, its number of keys. go-redis asks for its bytes when it writes the call to a
// connection; nothing else reveals a write, because hooks and a cluster's router read Args too.
type keyCount struct{ cmd *command }

// String returns the number, for hooks that log commands, and for the router.
func (k keyCount) String() string { return strconv.Itoa(k.cmd.keys) }

// MarshalBinary returns the number. For a call that was abandoned before it was written it returns one that makes the server
// run nothing.
func (k keyCount) MarshalBinary() ([]byte, error) {
	c := k.cmd
	c.writes.Add(1)
	if c.abandoned.Load() {
		return []byte("-1"), nil
	}
	return strconv.AppendInt(c.space[:0], int64(c.keys), 10), nil
}
