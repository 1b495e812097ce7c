package fcall_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// requiring returns the library with what it requires of servers, and its functions.
func requiring(servers string) (*fcall.Library, *fcall.Function) {
	lib, fn := *countLibrary, *countFunction("hit")
	lib.Code = strings.Replace(lib.Code, "\n", "\n-- rlfunc: library="+lib.Name+" version=1.0.0 requires="+servers+"\n", 1)
	fn.Library = &lib
	return &lib, &fn
}

func TestAutoLoad_refusesServerThatIsTooOld(t *testing.T) {
	addr := startRedis(t)
	forget(t, addr)
	lib, fn := requiring("redis-99.0,valkey-99.1")
	c, err := fcall.NewClient(admin(t, addr), lib, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Call(context.Background(), fn, []string{"k:{old}"}, nil)
	if !errors.Is(err, fcall.ErrNotLoaded) || !strings.Contains(err.Error(), "requires Redis 99.0 or Valkey 99.1 or later, and this is ") {
		t.Errorf("error %v", err)
	}
	if got := loads(t, addr); got != 0 {
		t.Errorf("the server took %d loads", got)
	}
}

func TestAutoLoad_loadsOnServerThatIsRequired(t *testing.T) {
	addr := startRedis(t)
	forget(t, addr)
	lib, fn := requiring("redis-7.0,valkey-7.2")
	c, err := fcall.NewClient(admin(t, addr), lib, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r, err := c.Call(context.Background(), fn, []string{"k:{new}"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := r.Count("n"), r.Close(); n != 1 || err != nil {
		t.Errorf("counted %d, %v", n, err)
	}
}

// codegen/internal/clients has the table of servers.
func TestAutoLoad_refusesServerOfAnotherProduct(t *testing.T) {
	s := newFakeServer(t, "-ERR Function not found\r\n")
	s.info = "redis_version:7.4.0\r\ndragonfly_version:df-v1.40.1\r\n"
	lib, fn := requiring("redis-7.4")
	rdb := redis.NewClient(&redis.Options{Addr: s.addr})
	t.Cleanup(func() { _ = rdb.Close() })
	c, err := fcall.NewClient(rdb, lib, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Call(context.Background(), fn, []string{"k:{other}"}, nil)
	if !errors.Is(err, fcall.ErrNotLoaded) || !strings.Contains(err.Error(), "requires Redis 7.4 or later, and this is Dragonfly df-v1.40.1; upgrade the server") {
		t.Errorf("error %v", err)
	}
}
