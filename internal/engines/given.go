package engines

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// given reaches the server that REDIS_URL names. Its owner's data is never touched: its database has
// to be empty and it may hold no functions (they are the whole server's), unless RLFUNC_REDIS_URL_FLUSH is 1.
func given(ctx context.Context) (*server, error) {
	url := os.Getenv("REDIS_URL")
	if url == "" {
		return nil, errors.New("REDIS_URL is not set")
	}
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	// Test processes run side by side, and functions are the whole server's: one process at a time.
	sum := sha256.Sum256([]byte(o.Addr))
	path := filepath.Join(os.TempDir(), fmt.Sprintf("rlfunc-engine-%x.lock", sum[:8]))
	unlock, err := lockFile(path)
	if err != nil {
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	patience, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	version, err := await(patience, *o, nil)
	if err == nil {
		err = vacant(patience, o)
	}
	if err != nil {
		unlock()
		return nil, fmt.Errorf("REDIS_URL: %w", err)
	}
	return &server{
		version: version,
		how:     "REDIS_URL",
		url:     url,
		options: *o,
		shared:  true,
		end:     unlock,
	}, nil
}

// vacant refuses a server that holds its owner's data.
func vacant(ctx context.Context, o *redis.Options) error {
	c := redis.NewClient(o)
	defer c.Close()
	libs, err := libraries(ctx, c)
	if err != nil {
		return err
	}
	keys, err := c.DBSize(ctx).Result()
	if err != nil {
		return err
	}
	if os.Getenv("RLFUNC_REDIS_URL_FLUSH") == "1" {
		return nil
	}
	if keys > 0 {
		return fmt.Errorf("database %d of %s holds %d keys, which the tests would delete; name an empty one, or set RLFUNC_REDIS_URL_FLUSH=1", o.DB, o.Addr, keys)
	}
	if len(libs) > 0 {
		return fmt.Errorf("%s holds the function libraries %s, which the tests would delete; name another server, or set RLFUNC_REDIS_URL_FLUSH=1", o.Addr, strings.Join(libs, ", "))
	}
	return nil
}
