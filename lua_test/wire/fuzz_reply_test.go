package wire_test

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/fcall"
)

// FuzzReplies hands any reply to the generated client of any function: it never panics, and what it does not take is one
// line that is an ErrReply.
func FuzzReplies(f *testing.F) {
	for i := range wireCalls {
		f.Add(byte(i), []byte{})
		f.Add(byte(i), []byte(strings.Repeat("\x00\x01\x00\x00\x00\x00\x00\x00\x00", 9)))
		f.Add(byte(i), []byte("\x02\x04none\x00\x01\x00\x00\x00\x00\x00\x00\x00\x04\x05a\r\nb"))
	}
	f.Fuzz(func(t *testing.T, which byte, data []byte) {
		w := wireCalls[int(which)%len(wireCalls)]
		vals, _ := anyReply(data, 2)
		replies := []any{vals}
		if len(vals) == 1 {
			replies = append(replies, vals[0]) // no array at all
		}
		for _, reply := range replies {
			err := w.decode(context.Background(), canned{reply})
			if err != nil && (!errors.Is(err, fcall.ErrReply) || strings.ContainsAny(err.Error(), "\r\n\x00") || len(err.Error()) > 600) {
				t.Errorf("%s: reply %#v gives %q", w.name, reply, err)
			}
		}
	})
}

// anyReply makes elements of the types that go-redis hands over, with arrays in arrays so deep.
func anyReply(data []byte, depth int) (vals []any, rest []byte) {
	vals = []any{}
	for len(data) > 0 {
		kind := data[0]
		data = data[1:]
		switch kind % 8 {
		case 0, 1:
			var word [8]byte
			data = data[copy(word[:], data):]
			vals = append(vals, int64(binary.LittleEndian.Uint64(word[:])))
		case 2:
			if len(data) > 0 {
				n := min(int(data[0]), len(data)-1)
				vals = append(vals, string(data[1:1+n]))
				data = data[1+n:]
			}
		case 3:
			vals = append(vals, nil)
		case 4:
			n := min(16, len(data))
			vals = append(vals, errors.New(string(data[:n])))
			data = data[n:]
		case 5:
			if depth == 0 {
				return vals, data
			}
			var inner []any
			inner, data = anyReply(data, depth-1)
			vals = append(vals, inner)
		case 6:
			vals = append(vals, 1.5, true, map[any]any{"a": int64(1)})
		case 7:
			return vals, data
		}
	}
	return vals, nil
}
