// Command httpapi is a small service that limits its clients with a Redis Function.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/loader"
)

func main() {
	url := os.Getenv("REDIS_URL")
	if url == "" {
		url = "redis://127.0.0.1:6379"
	}
	var s settings
	addr := flag.String("addr", "127.0.0.1:8080", "listen here")
	flag.StringVar(&s.redis, "redis", url, "the limits' Redis")
	flag.Int64Var(&s.limit, "limit", 10, "requests a client may make in a window")
	flag.DurationVar(&s.window, "window", time.Minute, "length of the window")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *addr)
	if err == nil {
		err = run(ctx, listener, s)
	}
	if err != nil {
		slog.Error("httpapi ends", "err", err)
		os.Exit(1)
	}
}

type settings struct {
	redis  string
	limit  int64
	window time.Duration
}

// connect sends nothing yet. A limiter that hangs is worse than one that is away: a context's deadline ends a call, and a dial that
// is refused is not tried over and over.
func connect(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("read the redis url: %w", err)
	}
	o.ContextTimeoutEnabled, o.DialTimeout, o.DialerRetries, o.MaxRetries = true, 500*time.Millisecond, 1, -1
	return redis.NewClient(o), nil
}

// run serves until ctx is done.
func run(ctx context.Context, listener net.Listener, s settings) error {
	client, err := connect(s.redis)
	if err != nil {
		return err
	}
	defer client.Close()

	// Loads the library where it is absent; what a deploy put there stays. An unreachable Redis is no reason not to start:
	// requests get 503 until it is there, and the first call that finds no library loads it by itself.
	if _, err := loader.Ensure(ctx, client, ratelimit.Library); errors.Is(err, loader.ErrUnreachable) {
		slog.Warn("starting without Redis", "err", err)
	} else if err != nil {
		return err
	}
	limits, err := ratelimit.New(client, fcall.Options{Namespace: "httpapi"})
	if err != nil {
		return err
	}

	mux := http.NewServeMux()
	mux.HandleFunc("GET /hello", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "hello") })
	server := &http.Server{Handler: limited(mux, limits, s), ReadHeaderTimeout: 5 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	slog.Info("listening", "addr", listener.Addr().String(), "limit", s.limit, "window", s.window)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done(): // requests that have begun are answered
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return server.Shutdown(grace)
	}
}
