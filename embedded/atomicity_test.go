package embedded_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Every caller reads a number, adds one and writes it back, in a function or under WATCH; none may be lost, by whatever way they come.
func TestFCALL_isAtomicAgainstAllOthers(t *testing.T) {
	s, _ := newServer(t)
	load(t, s, library)
	addr, err := s.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	tcp := redis.NewClient(&redis.Options{Addr: addr.String()})
	defer tcp.Close()
	memory := s.Client()
	defer memory.Close()

	const callers, calls = 4, 200
	ctx := context.Background()
	ways := map[string]func() error{
		"process": func() error { return call(s, "FCALL", "add", 1, "n").Err() },
		"tcp":     func() error { return tcp.FCall(ctx, "add", []string{"n"}).Err() },
		"memory":  func() error { return memory.FCall(ctx, "add", []string{"n"}).Err() },
		"exec": func() error {
			_, err := memory.TxPipelined(ctx, func(p redis.Pipeliner) error {
				p.Incr(ctx, "n")
				p.IncrBy(ctx, "n", -1)
				p.FCall(ctx, "add", []string{"n"})
				return nil
			})
			return err
		},
	}
	var group sync.WaitGroup
	for name, once := range ways {
		for range callers {
			group.Go(func() {
				for range calls {
					if err := once(); err != nil {
						t.Errorf("%s: %v", name, err)
						return
					}
				}
			})
		}
	}
	group.Wait()
	if got, want := answer(call(s, "GET", "n")), fmt.Sprint(callers*calls*len(ways)); got != want {
		t.Errorf("n = %v after %s additions", got, want)
	}
}
