package fcall

import "strconv"

// A keyCount is the third word of a call: how many keys it has. go-redis asks for its bytes when it writes the call to a connection,
// which nothing else shows: hooks and a cluster's router read Args, too.
type keyCount struct{ cmd *command }

// String returns the number, for hooks that log commands, and for the router.
func (k keyCount) String() string { return strconv.Itoa(k.cmd.keys) }

// MarshalBinary returns the number, and of a call that was abandoned before it was written one with which a server runs nothing.
func (k keyCount) MarshalBinary() ([]byte, error) {
	c := k.cmd
	c.writes.Add(1)
	if c.left.Load() {
		return []byte("-1"), nil
	}
	return strconv.AppendInt(c.space[:0], int64(c.keys), 10), nil
}
