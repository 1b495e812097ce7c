package callertest

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/counting"
	"github.com/rlfunc/rlfunc/internal/engines"
)

// through opens a client whose connections go through a proxy.
func (s suite) through(t *testing.T, to Target) (Client, *counting.Proxy) {
	t.Helper()
	p := counting.NewProxy(t, to.Addrs[0])
	to.Via = p.Addr
	return s.open(t, to), p
}

func queue(ctx context.Context, c *fcall.Client, rdb Client, key string) (int64, error) {
	pipe := rdb.Pipeline()
	pending := c.Queue(ctx, pipe, counting.Function("hit"), []string{key}, nil)
	_, _ = pipe.Exec(ctx)
	r, err := pending.Reply()
	if err != nil {
		return 0, err
	}
	n := r.Int("n")
	return n, r.Err()
}

func (s suite) runsAtMostOnce(t *testing.T) {
	steps := []struct {
		name string
		mode int32
		want int // executions on the server
		err  error
	}{
		{"nothing is lost", counting.Pass, 1, nil},
		{"the reply is lost", counting.LoseReply, 1, fcall.ErrOutcomeUnknown},
		{"the reply never comes", counting.HoldReply, 1, fcall.ErrOutcomeUnknown},
		{"the request is lost", counting.CutBefore, 0, fcall.ErrOutcomeUnknown},
	}
	for name, to := range s.at {
		for _, way := range []string{"call", "call without an end", "pipeline"} {
			for _, step := range steps {
				t.Run(name+"/"+way+"/"+step.name, func(t *testing.T) {
					t.Parallel()
					rdb, p := s.through(t, to)
					p.Mode.Store(step.mode)
					c, key := clientOf(t, rdb, fcall.Options{}), t.Name()
					n, err := int64(0), error(nil)
					switch way {
					case "call":
						n, err = hit(t, c, key)
					case "call without an end": // the caller sends it, and no other goroutine
						n, err = call(context.Background(), c, "hit", key)
					case "pipeline":
						n, err = queue(t.Context(), c, rdb, key)
					}
					if !errors.Is(err, step.err) || step.err == nil && n != 1 {
						t.Errorf("%d, %v, want the error %v", n, err, step.err)
					}
					if got := ran(t, to.Addrs[0], key); got != step.want {
						t.Errorf("ran %d times on the server, want %d", got, step.want)
					}
					if got := p.Seen.Load(); got != 1 {
						t.Errorf("was sent %d times, want 1", got)
					}
				})
			}
		}
	}
}

// A read-only call may be repeated. Without an answer, it has written nothing.
func (s suite) readOnlyIsRepeated(t *testing.T) {
	for name, to := range s.at {
		t.Run(name, func(t *testing.T) {
			rdb, p := s.through(t, to)
			p.Mode.Store(counting.LoseReply)
			_, err := call(t.Context(), clientOf(t, rdb, fcall.Options{}), "look", t.Name())
			if !errors.Is(err, fcall.ErrUnavailable) || errors.Is(err, fcall.ErrOutcomeUnknown) {
				t.Errorf("error is %v, want ErrUnavailable", err)
			}
			if got := p.Seen.Load(); got != 3 {
				t.Errorf("was sent %d times, want 3", got)
			}
		})
	}
}

func (s suite) endedContextSendsNothing(t *testing.T) {
	for name, to := range s.at {
		t.Run(name, func(t *testing.T) {
			rdb, p := s.through(t, to)
			c := clientOf(t, rdb, fcall.Options{})
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			_, err := call(ctx, c, "hit", t.Name())
			if !errors.Is(err, fcall.ErrUnavailable) || !errors.Is(err, context.Canceled) || !strings.HasSuffix(err.Error(), ": nothing ran: context canceled") {
				t.Errorf("error is %v, want ErrUnavailable and context.Canceled", err)
			}
			if got := p.Seen.Load(); got != 0 {
				t.Errorf("was sent %d times, want 0", got)
			}
		})
	}
}

// A call whose context ends is not sent again, then or later. If the client ends calls at deadlines, a cancel before has no effect.
func (s suite) endsWithItsContext(t *testing.T) {
	for name, to := range s.at {
		for _, end := range []struct {
			name              string
			deadline, cancels time.Duration
		}{
			{"deadline", soon, 0},
			{"cancel", 0, soon},
			{"cancel before a near deadline", 90 * time.Millisecond, soon},
		} {
			t.Run(name+"/"+end.name, func(t *testing.T) {
				t.Parallel()
				rdb, p := s.through(t, to)
				if end.deadline == 0 && sentByItsCaller(rdb) {
					return // until the client's own timeout
				}
				c, key := clientOf(t, rdb, fcall.Options{}), t.Name()
				if _, err := hit(t, c, key); err != nil {
					t.Fatal(err)
				}
				p.Mode.Store(counting.HoldReply)
				took, err := time.Duration(0), error(nil)
				calls := 2    // the first and the last
				for range 5 { // again, if a busy machine did not send the call or end it in time
					before := p.Seen.Load()
					calls++
					if took, err = ended(t, c, key, end.deadline, end.cancels); p.Seen.Load() > before && took < Timeout {
						break
					}
				}
				if took >= Timeout {
					t.Errorf("took %v, as long as the client's own timeout", took)
				}
				var timeout net.Error
				if !errors.Is(err, fcall.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) && !(errors.As(err, &timeout) && timeout.Timeout()) {
					t.Errorf("error is %v", err)
				}
				if end.cancels > 0 {
					return
				}
				// The last call ends after the client's own timeout. It may have waited for the connection, which broke then.
				if _, err := hit(t, c, key); !errors.Is(err, fcall.ErrOutcomeUnknown) {
					t.Errorf("error is %v", err)
				}
				if sent, n := int(p.Seen.Load()), ran(t, to.Addrs[0], key); sent != n || n < 2 || n > calls {
					t.Errorf("%d calls were sent %d times and ran %d times", calls, sent, n)
				}
			})
		}
	}
}

// sentByItsCaller reports whether the caller itself sends a call, so that a cancel has no effect, as in go-redis.
func sentByItsCaller(rdb any) bool {
	switch c := rdb.(type) {
	case *redis.Client:
		return c.Options().ContextTimeoutEnabled
	case *redis.ClusterClient:
		return c.Options().ContextTimeoutEnabled
	}
	return false
}

// ended makes a call whose context ends.
func ended(t *testing.T, c *fcall.Client, key string, deadline, cancels time.Duration) (took time.Duration, err error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if cancels > 0 {
		time.AfterFunc(cancels, cancel)
	}
	if deadline > 0 {
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	start := time.Now()
	_, err = call(ctx, c, "hit", key)
	return time.Since(start), err
}

const soon = 20 * time.Millisecond

// A call whose caller was cancelled goes on until its reply comes, so its connection survives.
func (s suite) leftCall(t *testing.T) {
	for name, to := range s.at {
		t.Run(name, func(t *testing.T) {
			rdb, p := s.through(t, to)
			if sentByItsCaller(rdb) {
				return
			}
			c := clientOf(t, rdb, fcall.Options{})
			for range 50 { // opens all connections of the client
				if _, err := hit(t, c, t.Name()); err != nil {
					t.Fatal(err)
				}
			}
			p.Mode.Store(counting.SlowReply)
			opened, seen := p.Opened.Load(), p.Seen.Load()
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				for p.Seen.Load() == seen {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			_, err := call(ctx, c, "hit", t.Name())
			if !errors.Is(err, fcall.ErrOutcomeUnknown) || !errors.Is(err, context.Canceled) {
				t.Fatalf("error is %v", err)
			}
			if n, err := hit(t, c, t.Name()); n != 52 || err != nil {
				t.Errorf("%d, %v after 51 calls and this one", n, err)
			}
			if got := p.Opened.Load(); got > opened+1 { // one for the call beside it
				t.Errorf("%d connections were opened", got-opened)
			}
		})
	}
}

// The end of one call's context does not break the connection of others.
func (s suite) deadlinesOfOthers(t *testing.T) {
	for name, to := range s.at {
		t.Run(name, func(t *testing.T) {
			rdb, p := s.through(t, to)
			c := clientOf(t, rdb, fcall.Options{})
			p.Mode.Store(counting.SlowReply)
			answered := int32(1)
			for try := 0; try < 5 && answered > 0; try++ { // again, if a busy machine was slower than the replies
				answered = aside(t, c)
			}
			if answered > 0 {
				t.Errorf("%d calls have an answer that came after their deadline", answered)
			}
		})
	}
}

// aside makes calls with a near deadline beside others without one, which get their answers. It returns how many of the former got one.
func aside(t *testing.T, c *fcall.Client) (answered int32) {
	ctx, cancel := context.WithTimeout(t.Context(), soon)
	defer cancel()
	var calls sync.WaitGroup
	for i := range 32 {
		calls.Go(func() {
			if i%2 == 0 {
				switch _, err := call(ctx, c, "hit", t.Name()); {
				case err == nil:
					atomic.AddInt32(&answered, 1)
				case !errors.Is(err, context.DeadlineExceeded):
					t.Errorf("error is %v", err)
				}
			} else if _, err := call(context.Background(), c, "hit", t.Name()); err != nil {
				t.Error(err)
			}
		})
	}
	calls.Wait()
	return answered
}

// No call runs twice, and each call with an answer was counted.
func (s suite) breakingConnections(t *testing.T) {
	const callers, each = 16, 20
	for name, to := range s.at {
		t.Run(name, func(t *testing.T) {
			rdb, p := s.through(t, to)
			c, key := clientOf(t, rdb, fcall.Options{}), t.Name()
			var outcomes tally
			var wg sync.WaitGroup
			for i := range callers {
				wg.Go(func() {
					for j := range each {
						switch (i*each + j) % 16 {
						case 7:
							p.Mode.Store(counting.LoseReply)
						case 9:
							p.Mode.Store(counting.Pass)
						}
						_, err := hit(t, c, key)
						outcomes.add(t, err)
					}
				})
			}
			wg.Wait()
			outcomes.check(t, ran(t, to.Addrs[0], key))
		})
	}
}

// A tally counts calls by what their errors prove.
type tally struct {
	sync.Mutex
	answered, unknown, nothing int
}

func (y *tally) add(t *testing.T, err error) {
	y.Lock()
	defer y.Unlock()
	switch {
	case err == nil:
		y.answered++
	case errors.Is(err, fcall.ErrOutcomeUnknown):
		y.unknown++
	case errors.Is(err, fcall.ErrUnavailable), errors.Is(err, fcall.ErrNotLoaded):
		y.nothing++
	default:
		t.Errorf("an error that proves neither: %v", err)
	}
}

func (y *tally) check(t *testing.T, ran int) {
	t.Helper()
	t.Logf("%d answered, %d unknown, %d not run; %d ran", y.answered, y.unknown, y.nothing, ran)
	if y.answered == 0 || ran < y.answered || ran > y.answered+y.unknown {
		t.Errorf("%d ran, want from %d (answered, not 0) to %d (with unknown)", ran, y.answered, y.answered+y.unknown)
	}
}

func (s suite) noServer(t *testing.T) {
	rdb := s.open(t, Target{Addrs: []string{engines.FreeAddr(t)}})
	c := clientOf(t, rdb, fcall.Options{})
	if _, err := hit(t, c, "k"); !errors.Is(err, fcall.ErrUnavailable) {
		t.Errorf("error is %v, want ErrUnavailable", err)
	}
	if _, err := queue(t.Context(), c, rdb, "k"); !errors.Is(err, fcall.ErrUnavailable) {
		t.Errorf("queued: error is %v, want ErrUnavailable", err)
	}
}

// Calls go on after a restart without a new client, and load the library that the server lost.
func (s suite) restartedServer(t *testing.T) {
	m := engines.OnPath(t).Start(t)
	load(t, m)
	c := s.client(t, Target{Addrs: []string{m.Addr}})
	if _, err := hit(t, c, "k"); err != nil {
		t.Fatal(err)
	}
	m.Kill()
	eventually(t, "the client sees that the server is gone", func() error {
		if _, err := hit(t, c, "k"); !errors.Is(err, fcall.ErrUnavailable) {
			return err
		}
		return nil
	})
	m.Restart(t)
	var outcomes tally
	eventually(t, "calls run again", func() error {
		_, err := hit(t, c, "k")
		outcomes.add(t, err)
		return err
	})
	outcomes.check(t, ran(t, m.Addr, "k"))
	if got := c.Stats().Loads; got != 1 {
		t.Errorf("%d loads, want 1", got)
	}
}

const readOnly = "READONLY You can't write against a read only replica."

// After a failover behind a proxy, the connections that are open lead to the old primary, which refuses writes. They are given up.
func (s suite) demotedServer(t *testing.T) {
	for name, to := range s.at {
		for form, reply := range map[string]string{
			"by the server":     "-" + readOnly,
			"by a proxy":        "-ERR " + readOnly,
			"by a proxy, twice": "-ERR proxy: upstream said: -" + readOnly,
		} {
			for attempts, o := range map[string]fcall.Options{"several attempts": {}, "one attempt": {MaxAttempts: 1}} {
				t.Run(name+"/"+form+"/"+attempts, func(t *testing.T) {
					t.Parallel()
					rdb, p := s.through(t, to)
					c, key := clientOf(t, rdb, o), t.Name()
					if _, err := hit(t, c, key); err != nil {
						t.Fatal(err)
					}
					together(32, func(int) { _, _ = hit(t, c, key) }) // opens connections
					before := ran(t, to.Addrs[0], key)
					p.Refuse(reply+"\r\n", false)
					outcomes := tally{answered: before}
					for tries, passed := 0, 0; passed < 20; tries++ {
						if tries == 500 {
							t.Fatal("calls still go to the old primary")
						}
						_, err := hit(t, c, key)
						if outcomes.add(t, err); err == nil {
							passed++
						} else {
							passed = 0
						}
					}
					together(32, func(int) {
						_, err := hit(t, c, key)
						outcomes.add(t, err)
					})
					outcomes.check(t, ran(t, to.Addrs[0], key))
				})
			}
		}
	}
}

// Refusals that another connection would get as well keep the connections.
func (s suite) refusingServer(t *testing.T) {
	for name, to := range s.at {
		for _, reply := range []string{
			"-BUSY Redis is busy running a script.", "-OOM command not allowed when used memory > 'maxmemory'.", "-NOPERM this user has no permissions",
			"-ERR OOM command not allowed", "-ERR BUSY", "-MISCONF no disk", "-ERR unknown command 'FCALL', with args beginning with: ' READONLY '",
		} {
			t.Run(name+"/"+reply[:8], func(t *testing.T) {
				rdb, p := s.through(t, to)
				c := clientOf(t, rdb, fcall.Options{})
				if _, err := hit(t, c, t.Name()); err != nil {
					t.Fatal(err)
				}
				for range 50 { // opens all connections of the client
					_, _ = hit(t, c, t.Name())
				}
				p.Refuse(reply+"\r\n", true)
				opened := p.Opened.Load()
				for range 20 {
					if _, err := hit(t, c, t.Name()); err == nil {
						t.Fatal("no error")
					}
				}
				if n := p.Opened.Load() - opened; n > 0 {
					t.Errorf("20 refusals opened %d connections", n)
				}
			})
		}
	}
}
