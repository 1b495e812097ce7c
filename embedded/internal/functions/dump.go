package functions

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc64"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
)

// ErrPayload is the answer to restoring what is not a dump.
var ErrPayload = errors.New("DUMP payload version or checksum are wrong")

const (
	opFunction = 245 // a library's code follows as a string
	rdbVersion = 10  // of Redis 7.0, the oldest that has functions
	footer     = 10  // two bytes of version, eight of checksum
)

// Redis's CRC-64 is the one of Jones, without the inversions that hash/crc64 makes.
var jones = crc64.MakeTable(0x95ac9329ac4bc9b5)

func checksum(p []byte) uint64 { return ^crc64.Update(^uint64(0), jones, p) }

// Policy says what Restore does with the libraries that are there.
type Policy int

// The policies: Append refuses a name that exists, Replace takes the new one, Flush removes all before.
const (
	Append Policy = iota
	Replace
	Flush
)

// Dump serialises all libraries as Redis does, but without compression.
func (r *Registry) Dump() string {
	var p []byte
	for _, l := range r.Libraries() {
		p = append(p, opFunction)
		p = appendLength(p, len(l.Code))
		p = append(p, l.Code...)
	}
	p = binary.LittleEndian.AppendUint16(p, rdbVersion)
	return string(binary.LittleEndian.AppendUint64(p, checksum(p)))
}

// Restore adds the libraries of a dump, all or none.
func (r *Registry) Restore(payload string, policy Policy) error {
	if len(payload) < footer {
		return ErrPayload
	}
	p := []byte(payload)
	body, sum := p[:len(p)-8], binary.LittleEndian.Uint64(p[len(p)-8:])
	if sum != checksum(body) {
		return ErrPayload
	}
	next := r.clone()
	if policy == Flush {
		next = Registry{Observer: r.Observer}
	}
	incoming := Registry{}
	for body = body[:len(body)-2]; len(body) > 0; {
		if body[0] != opFunction {
			return errors.New("given type is not a function")
		}
		code, rest, ok := cutString(body[1:])
		if !ok {
			return ErrPayload
		}
		body = rest
		l, err := luahost.Load(code, r.Observer)
		if err != nil {
			return err
		}
		if err := incoming.add(l, false); err != nil {
			return err
		}
	}
	// Those to be replaced go first: their functions may come back in another library.
	for _, l := range incoming.Libraries() {
		old := next.libraries[l.Name]
		switch {
		case old == nil:
		case policy == Append:
			//lint:ignore ST1005 Redis's own text, here without quotes
			return fmt.Errorf("Library %s already exists", l.Name)
		default:
			next.remove(old)
		}
	}
	for _, l := range incoming.Libraries() {
		if err := next.add(l, false); err != nil {
			return err
		}
	}
	*r = next
	return nil
}
