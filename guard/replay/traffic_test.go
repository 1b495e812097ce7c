package replay

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// traffic generates an access log from a seed, with addresses reserved for documentation.
type traffic struct {
	seed    uint64
	lines   int
	clients int           // few are frequent
	gap     time.Duration // mean time between lines
	bursts  int           // lines between bursts of a hundred requests of one client
	json    bool          // JSON with microseconds, or else common with seconds
	early   time.Duration // most time that a line is earlier than the one before
}

func (tr traffic) start() time.Time { return time.Date(2026, 3, 1, 6, 0, 0, 0, time.UTC) }

func (tr traffic) String() string {
	random := rand.New(rand.NewPCG(tr.seed, 1))
	often := rand.NewZipf(random, 1.2, 4, uint64(tr.clients-1))
	var b strings.Builder
	at := tr.start()
	burst, left := uint64(0), 0
	for n := range tr.lines {
		c := often.Uint64()
		if tr.bursts > 0 && n%tr.bursts == tr.bursts-1 {
			burst, left = c, 100
		}
		if left > 0 {
			left--
			c = burst
			at = at.Add(time.Duration(random.Int64N(2000)) * time.Microsecond)
		} else {
			at = at.Add(time.Duration(random.ExpFloat64() * float64(tr.gap)).Truncate(time.Microsecond))
		}
		when := at
		if tr.early > 0 && random.IntN(20) == 0 {
			when = when.Add(-time.Duration(random.Int64N(int64(tr.early))))
		}
		method, path := request(random)
		if tr.json {
			fmt.Fprintf(&b, `{"time":%q,"remote_addr":%q,"method":%q,"uri":%q,"status":200}`+"\n", when.Format(time.RFC3339Nano), address(c), method, path)
		} else {
			fmt.Fprintf(&b, "%s - - [%s] \"%s %s HTTP/1.1\" 200 %d \"-\" \"test/1.0\"\n", address(c), when.Format("02/Jan/2006:15:04:05 -0700"), method, path, random.IntN(10_000))
		}
	}
	return b.String()
}

func request(random *rand.Rand) (method, path string) {
	switch n := random.IntN(10); {
	case n < 5:
		return "GET", "/v1/items?page=" + fmt.Sprint(random.IntN(9))
	case n < 8:
		return "POST", "/v1/chat"
	case n < 9:
		return "POST", "/login"
	}
	return "GET", "/static/app.js"
}

// address returns a documentation address: one of some hundred IPv4 addresses, or of an IPv6 /64.
func address(n uint64) string {
	switch {
	case n >= 762:
		return fmt.Sprintf("2001:db8:%x:%x::%x", n>>16, n&0xffff, n%7)
	case n >= 508:
		return fmt.Sprintf("203.0.113.%d", n-508+1)
	case n >= 254:
		return fmt.Sprintf("198.51.100.%d", n-254+1)
	}
	return fmt.Sprintf("192.0.2.%d", n+1)
}
