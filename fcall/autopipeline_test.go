package fcall_test

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A lost reply makes the outcome of a whole round trip unknown. The calls after it go out by themselves, so that what is lost next is
// the outcome of one.
func TestAutoPipeliner_underDoubtCallsGoAlone(t *testing.T) {
	plain, clustered := servers(t)
	for _, w := range ways {
		if w.name != "autopipeline" && w.name != "autopipeline cluster" {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			backend := plain
			if w.isCluster() {
				backend = clustered
			}
			p := newProxy(t, backend)
			c := newClient(t, w.open(t, p.addr), fcall.Options{})
			if _, err := hit(c, "k"); err != nil {
				t.Fatal(err)
			}
			p.mode.Store(loseReply)
			if _, err := hit(c, "k"); !errors.Is(err, fcall.ErrOutcomeUnknown) {
				t.Fatalf("error is %v", err)
			}
			p.mode.Store(pass)
			before := p.seen.Load()
			const callers = 32
			var wg sync.WaitGroup
			for range callers {
				wg.Go(func() {
					if _, err := hit(c, "k"); err != nil {
						t.Error(err)
					}
				})
			}
			wg.Wait()
			if got := p.seen.Load() - before; got != callers {
				t.Errorf("%d calls shared %d requests", callers, got)
			}
		})
	}
}

func TestNewAutoPipeliner_refuses(t *testing.T) {
	ring := redis.NewRing(&redis.RingOptions{})
	defer ring.Close()
	rdb := admin(t, freeAddr(t))
	again, err := rdb.AutoPipeline()
	if err != nil {
		t.Fatal(err)
	}
	steps := []struct {
		client redis.UniversalClient
		o      *redis.AutoPipelineOptions
		want   string
	}{
		{nil, nil, "new auto-pipeliner: use a *redis.Client or a *redis.ClusterClient, not a <nil>"},
		{ring, nil, "new auto-pipeliner: redis: AutoPipeline is not supported by Ring"},
		{again, nil, "new auto-pipeliner: use a *redis.Client or a *redis.ClusterClient, not a *redis.AutoPipeliner"},
	}
	for _, s := range steps {
		if _, err := fcall.NewAutoPipeliner(s.client, s.o); fmt.Sprint(err) != s.want {
			t.Errorf("%T: %v, want %s", s.client, err, s.want)
		}
	}
}
