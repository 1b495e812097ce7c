// Command chat is a service that protects all requests with package guard: one-time challenges, signed fingerprints, limits of devices and
// addresses, a global limit, a budget of tokens, and bans with escalation.
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
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/loader"
)

type settings struct {
	redis  string
	policy string        // policy file
	key    string        // key that signs fingerprints
	pace   time.Duration // time of the model for each token
}

func main() {
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, nil)))
	s := settings{redis: os.Getenv("REDIS_URL"), key: os.Getenv("CHAT_KEY")}
	if s.redis == "" {
		s.redis = "redis://127.0.0.1:6379"
	}
	addr := flag.String("addr", "127.0.0.1:8080", "listen address")
	flag.StringVar(&s.redis, "redis", s.redis, "URL of Redis; REDIS_URL sets the default")
	flag.StringVar(&s.policy, "policy", "examples/chat/limits.yaml", "policy file; the service reloads it when it changes")
	flag.DurationVar(&s.pace, "pace", 5*time.Millisecond, "time of the model for each token")
	flag.Parse()

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", *addr)
	if err == nil {
		err = run(ctx, listener, s)
	}
	if err != nil {
		slog.Error("chat failed", "err", err)
		os.Exit(1)
	}
}

// run serves until ctx is done.
func run(ctx context.Context, listener net.Listener, s settings) error {
	client, err := connect(s.redis)
	if err != nil {
		return err
	}
	defer client.Close()
	if err := prepare(ctx, client); err != nil {
		return err
	}
	svc, err := newService(client, s)
	if err != nil {
		return err
	}
	defer svc.close()
	svc.guard.Watch(ctx, s.policy)

	server := &http.Server{Handler: svc.handler(), ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	slog.Info("listening", "url", "http://"+listener.Addr().String(), "policy", s.policy)
	select {
	case err := <-ended:
		return err
	case <-ctx.Done(): // finish current requests
		slog.Info("shutting down")
		grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
		defer cancel()
		return server.Shutdown(grace)
	}
}

// connect returns a client without a connection. It does not retry failed dials, because guard has failure modes.
func connect(url string) (*redis.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil {
		return nil, fmt.Errorf("parse Redis URL: %w", err)
	}
	o.ContextTimeoutEnabled, o.DialTimeout, o.DialerRetries, o.MaxRetries = true, 500*time.Millisecond, 1, -1
	return redis.NewClient(o), nil
}

// prepare loads missing libraries. The service also starts without Redis: closed endpoints return 503 until it is reachable, and then the
// first call loads the library.
func prepare(ctx context.Context, client *redis.Client) error {
	for _, lib := range []*fcall.Library{guard.Library, challenge.Library, cost.Library} {
		if _, err := loader.Ensure(ctx, client, lib); errors.Is(err, loader.ErrUnreachable) {
			slog.Warn("starting without Redis", "err", err)
			return nil
		} else if err != nil {
			return err
		}
	}
	return nil
}
