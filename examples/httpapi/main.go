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
	addr := flag.String("addr", "127.0.0.1:8080", "listen address")
	flag.StringVar(&s.redis, "redis", url, "URL of Redis")
	flag.Int64Var(&s.limit, "limit", 10, "requests per client and window")
	flag.DurationVar(&s.window, "window", time.Minute, "length of the window")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *addr)
	if err == nil {
		err = run(ctx, listener, s)
	}
	if err != nil {
		slog.Error("httpapi failed", "err", err)
		os.Exit(1)
	}
}

type settings struct {
	redis  string
	limit  int64
	window time.Duration
}

// connect returns a client without a connection. Contexts end its calls and it does not retry failed dials, because a slow limiter is
// worse than none.
func connect(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("parse Redis URL: %w", err)
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

	// Load the library if it is missing. Ensure never replaces a library; only a deploy does. The service also starts without Redis:
	// requests get 503 until it is reachable, and then the first call loads the library.
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
	case <-ctx.Done(): // finish current requests
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer cancel()
		return server.Shutdown(grace)
	}
}
