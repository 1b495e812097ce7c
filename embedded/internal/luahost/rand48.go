package luahost

// rand48 is the generator behind math.random in Redis: the 48-bit linear
// congruential one of drand48, the same on every machine. Its first numbers are
// the same on every fresh server, so they are not secret.
type rand48 struct{ x uint64 }

const rand48Max = 1<<31 - 1

func newRand48() rand48 { return rand48{0x1234abcd330e} }

func (r *rand48) seed(n int32) { r.x = uint64(uint32(n))<<16 | 0x330e }

func (r *rand48) next() uint32 {
	r.x = (r.x*0x5deece66d + 0xb) & (1<<48 - 1)
	return uint32(r.x >> 17)
}

// fraction is at least 0 and below 1.
func (r *rand48) fraction() float64 { return float64(r.next()%rand48Max) / rand48Max }
