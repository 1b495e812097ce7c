package command

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

var hyperloglogCommands = []Command{
	{Name: "pfadd", Arity: -2, Flags: Write | DenyOOM | Fast, First: 1, Last: 1, Step: 1, Run: pfadd},
	{Name: "pfcount", Arity: -2, Flags: ReadOnly | MayReplicate, First: 1, Last: -1, Step: 1, Run: pfcount},
	{Name: "pfmerge", Arity: -2, Flags: Write | DenyOOM, First: 1, Last: -1, Step: 1, Run: pfmerge},
}

const (
	hllBits      = 14 // of a hash, which choose the register
	hllRegisters = 1 << hllBits
	hllHeader    = 16
	hllSize      = hllHeader + hllRegisters*6/8
	hllMagic     = "HYLL"
	hllDense     = 0
	hllStale     = 0x80 // of the header's last byte: the cached count is not to be used
)

var errNoHLL = failure("WRONGTYPE Key is not a valid HyperLogLog string value.")

// An hll is a HyperLogLog in Redis's dense form: a header, and registers of 6 bits from the lowest bit of a byte up. Redis keeps a small one in a
// sparse form.
type hll []byte

func newHLL() hll {
	h := make(hll, hllSize)
	copy(h, hllMagic)
	h[hllHeader-1] = hllStale
	return h
}

func (h hll) get(i int) byte {
	at, shift := hllHeader+i*6/8, i*6%8
	v := h[at] >> shift
	if shift > 2 {
		v |= h[at+1] << (8 - shift)
	}
	return v & 63
}

// raise makes register i at least v and reports whether it was lower.
func (h hll) raise(i int, v byte) bool {
	if h.get(i) >= v {
		return false
	}
	at, shift := hllHeader+i*6/8, i*6%8
	h[at] = h[at]&^(63<<shift) | v<<shift
	if shift > 2 {
		h[at+1] = h[at+1]&^(63>>(8-shift)) | v>>(8-shift)
	}
	return true
}

// add counts an element: the register that its hash chooses holds the longest run of zeros seen, and one.
func (h hll) add(element string) bool {
	hash := murmur64A(element, 0xadc83b19)
	return h.raise(int(hash%hllRegisters), byte(bits.TrailingZeros64(hash>>hllBits|1<<(64-hllBits))+1))
}

func (h hll) merge(other hll) {
	for i := range hllRegisters {
		h.raise(i, other.get(i))
	}
}

// count is the estimate of Otmar Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (2017), algorithm 6.
func (h hll) count() int64 {
	const m, q = float64(hllRegisters), 64 - hllBits
	var histogram [64]float64
	for i := range hllRegisters {
		histogram[h.get(i)]++
	}
	z := m * ertlTau((m-histogram[q+1])/m)
	for k := q; k >= 1; k-- {
		z = (z + histogram[k]) * 0.5
	}
	z += float64(m * ertlSigma(histogram[0]/m))
	return int64(math.Round(0.721347520444481703680 * m * m / z)) // 1 / (2 ln 2)
}

func ertlSigma(x float64) float64 {
	if x == 1 {
		return math.Inf(1)
	}
	for y, z := 1.0, x; ; y += y {
		x *= x
		before := z
		if z += float64(x * y); z == before {
			return z
		}
	}
}

func ertlTau(x float64) float64 {
	if x == 0 || x == 1 {
		return 0
	}
	for y, z := 1.0, 1-x; ; {
		x = math.Sqrt(x)
		before := z
		y *= 0.5
		if z -= float64((1 - x) * (1 - x) * y); z == before {
			return z / 3
		}
	}
}

// murmur64A is Austin Appleby's MurmurHash64A.
func murmur64A(s string, seed uint64) uint64 {
	const m, r = 0xc6a4a7935bd1e995, 47
	h := seed ^ uint64(len(s))*m
	p := []byte(s)
	for ; len(p) >= 8; p = p[8:] {
		k := binary.LittleEndian.Uint64(p) * m
		k ^= k >> r
		h = (h ^ k*m) * m
	}
	if len(p) > 0 {
		var tail [8]byte
		copy(tail[:], p)
		h = (h ^ binary.LittleEndian.Uint64(tail[:])) * m
	}
	h = (h ^ h>>r) * m
	return h ^ h>>r
}

// hyperLogLog reads the value of a key; it is nil if there is none.
func (c *Call) hyperLogLog(key string) (h hll, expire int64, problem reply.Value) {
	e, fits := c.find(key, store.String)
	switch {
	case !fits:
		return nil, 0, errWrongType
	case e == nil:
		return nil, store.Never, okay
	case len(e.Str) != hllSize || !strings.HasPrefix(e.Str, hllMagic) || e.Str[len(hllMagic)] != hllDense:
		return nil, 0, errNoHLL
	}
	h = newHLL()
	copy(h[hllHeader:], e.Str[hllHeader:])
	return h, e.Expire, okay
}

func pfadd(c *Call) reply.Value {
	h, expire, problem := c.hyperLogLog(c.Args[1])
	if problem.Kind == reply.Error {
		return problem
	}
	changed := h == nil
	if changed {
		h = newHLL()
	}
	for _, element := range c.Args[2:] {
		changed = h.add(element) || changed
	}
	if changed {
		c.DB.SetString(c.Args[1], string(h), expire)
	}
	return truth(changed)
}

// mergeHLL merges the values of several keys.
func (c *Call) mergeHLL(keys []string) (all hll, problem reply.Value) {
	all = newHLL()
	for _, key := range keys {
		h, _, problem := c.hyperLogLog(key)
		if problem.Kind == reply.Error {
			return nil, problem
		}
		if h != nil {
			all.merge(h)
		}
	}
	return all, okay
}

func pfcount(c *Call) reply.Value {
	all, problem := c.mergeHLL(c.Args[1:])
	if problem.Kind == reply.Error {
		return problem
	}
	return integer(all.count())
}

// pfmerge keeps what the first key holds, and its expiry.
func pfmerge(c *Call) reply.Value {
	all, problem := c.mergeHLL(c.Args[1:])
	if problem.Kind == reply.Error {
		return problem
	}
	expire := store.Never
	if e := c.DB.Get(c.Args[1], c.Now); e != nil {
		expire = e.Expire
	}
	c.DB.SetString(c.Args[1], string(all), expire)
	return okay
}
