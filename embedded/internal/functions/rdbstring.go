package functions

import (
	"encoding/binary"
	"math"
)

// The two highest bits of an RDB length tell its form.
const (
	form6Bits   = 0
	form14Bits  = 1
	formWide    = 2 // 0x80: 32 bits follow, 0x81: 64 bits
	formEncoded = 3 // not a length
	encodingLZF = 3
)

func appendLength(p []byte, n int) []byte {
	switch {
	case n < 1<<6:
		return append(p, byte(n))
	case n < 1<<14:
		return append(p, form14Bits<<6|byte(n>>8), byte(n))
	}
	return binary.BigEndian.AppendUint32(append(p, formWide<<6), uint32(n))
}

func cutLength(p []byte) (n int, encoded bool, rest []byte, ok bool) {
	if len(p) == 0 {
		return 0, false, nil, false
	}
	first := p[0]
	switch low := int(first & 0x3f); first >> 6 {
	case form6Bits:
		return low, false, p[1:], true
	case form14Bits:
		if len(p) < 2 {
			return 0, false, nil, false
		}
		return low<<8 | int(p[1]), false, p[2:], true
	case formWide:
		if low == 0 && len(p) >= 5 {
			wide := binary.BigEndian.Uint32(p[1:])
			return int(wide), false, p[5:], wide <= math.MaxInt32
		}
		return 0, false, nil, false
	default:
		return low, true, p[1:], true
	}
}

// cutString takes a string off p, plain or compressed by LZF.
func cutString(p []byte) (s string, rest []byte, ok bool) {
	n, encoded, p, ok := cutLength(p)
	if !ok {
		return "", nil, false
	}
	if !encoded {
		if n > len(p) {
			return "", nil, false
		}
		return string(p[:n]), p[n:], true
	}
	if n != encodingLZF {
		return "", nil, false
	}
	packed, _, p, ok := cutLength(p)
	if !ok {
		return "", nil, false
	}
	full, _, p, ok := cutLength(p)
	if !ok || packed > len(p) {
		return "", nil, false
	}
	s, ok = inflate(p[:packed], full)
	return s, p[packed:], ok
}

// inflate undoes LZF: runs of literal bytes, and copies of what came at most 8 KiB before.
func inflate(p []byte, size int) (string, bool) {
	var out []byte
	for len(p) > 0 {
		control := int(p[0])
		p = p[1:]
		if control < 32 {
			if control >= len(p) {
				return "", false
			}
			out = append(out, p[:control+1]...)
			p = p[control+1:]
			continue
		}
		n := control >> 5
		if n == 7 {
			if len(p) == 0 {
				return "", false
			}
			n += int(p[0])
			p = p[1:]
		}
		if len(p) == 0 {
			return "", false
		}
		from := len(out) - (control&0x1f)<<8 - int(p[0]) - 1
		p = p[1:]
		if from < 0 || len(out)+n+2 > size {
			return "", false
		}
		for range n + 2 {
			out = append(out, out[from])
			from++
		}
	}
	return string(out), len(out) == size
}
