package guard_test

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// A relay passes bytes between clients and a server, and holds up the server's. toxiproxy would stand in the go.sum of each module that imports
// guard, by this test.
type relay struct {
	addr, to string
	opened   atomic.Int64 // connections
	delay    atomic.Int64 // of what the server sends, in ns; below 0: none of it arrives

	mu       sync.Mutex
	listener net.Listener
	conns    []net.Conn
}

func startRelay(t *testing.T, to string) *relay {
	r := &relay{addr: "127.0.0.1:0", to: to}
	r.listen(t)
	t.Cleanup(r.die)
	return r
}

func (r *relay) listen(t *testing.T) {
	l, err := net.Listen("tcp", r.addr)
	if err != nil {
		t.Fatal(err)
	}
	r.addr, r.listener = l.Addr().String(), l
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", r.to)
			if err != nil {
				client.Close()
				continue
			}
			r.opened.Add(1)
			r.mu.Lock()
			r.conns = append(r.conns, client, server)
			r.mu.Unlock()
			go r.pass(server, client, func() int64 { return 0 })
			go r.pass(client, server, r.delay.Load)
		}
	}()
}

func (r *relay) pass(to, from net.Conn, delay func() int64) {
	defer to.Close()
	defer from.Close()
	var buf [64 << 10]byte
	for {
		n, err := from.Read(buf[:])
		if err != nil {
			return
		}
		d := delay()
		for ; d < 0; d = delay() {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Duration(d))
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// die closes all connections, and refuses others until listen is called.
func (r *relay) die() {
	r.listener.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

// A server that is slower than the policy's timeout, that stalls or that dies, under load: every request is decided in time, and the calls
// that it does not answer cost few connections, because only those are closed whose call was sent by its own request.
func TestDecide_serverThatDoesNotAnswerInTime(t *testing.T) {
	server := engines.OnPath(t).Start(t)
	for _, fault := range []struct {
		name       string
		begin, end func(*relay, *testing.T)
	}{
		{"answers after 60 ms", func(r *relay, _ *testing.T) { r.delay.Store(int64(60 * time.Millisecond)) }, func(r *relay, _ *testing.T) { r.delay.Store(0) }},
		{"stalls", func(r *relay, _ *testing.T) { r.delay.Store(-1) }, func(r *relay, _ *testing.T) { r.delay.Store(0) }},
		{"dies", func(r *relay, _ *testing.T) { r.die() }, (*relay).listen},
	} {
		for _, enforced := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/ContextTimeoutEnabled %v", fault.name, enforced), func(t *testing.T) {
				relay := startRelay(t, server.Addr)
				rdb := redis.NewClient(&redis.Options{Addr: relay.addr, ContextTimeoutEnabled: enforced})
				defer rdb.Close()
				p := chat(policy.Limit{Name: "second", Kind: policy.GCRA, Limit: 1_000_000, Window: time.Second})
				p.Timeout = 50 * time.Millisecond
				var opened [2]int64 // at the begin of the fault, and at its end
				l := underLoad(t, newGuard(t, rdb, p, guard.Options{BreakFor: 100 * time.Millisecond, CacheSize: -1}), 64, 1000, [3]func(*phase) bool{
					func(p *phase) bool { return p.counts[passed] > 500 },
					func(p *phase) bool { return p.counts[passedAlone] > 500 },
					func(p *phase) bool { return p.counts[passed] > 500 },
				}, [2]func(){
					func() { opened[0] = relay.opened.Load(); fault.begin(relay, t) },
					func() { opened[1] = relay.opened.Load(); fault.end(relay, t) },
				})
				if failed := l.phases[0].counts[failed] + l.phases[1].counts[failed] + l.phases[2].counts[failed]; failed > 0 {
					t.Errorf("%d requests failed", failed)
				}
				took := l.began[2].Sub(l.began[1])
				// Each timeout closes at most the four connections of calls that are alone, and the two of shared round trips.
				if got, most := opened[1]-opened[0], 6*(int64(took/(50*time.Millisecond))+2); got > most {
					t.Errorf("%d connections were opened during the fault, want at most %d in %v", got, most, took)
				}
			})
		}
	}
}
