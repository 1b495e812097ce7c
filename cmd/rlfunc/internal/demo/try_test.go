package demo

import ("context";"os";"testing";"time"; "github.com/redis/go-redis/v9")

func TestTry(t *testing.T) {
	o := Options{Out: os.Stdout}
	if u := os.Getenv("TRY_REDIS"); u != "" { o.Client = redis.NewClient(&redis.Options{Addr: u}); o.Name = u }
	t0 := time.Now()
	v, err := Run(context.Background(), o)
	t.Log(time.Since(t0), v != nil && v.OK, err)
}
