package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/serve"
)

type serveFlags struct {
	grpc, http   string
	api, tokens  string
	health       string
	tls          serve.TLS
	connections  int
	delay, drain time.Duration
}

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Decide the requests of proxies by a policy",
		Long: `Decides requests for proxies and for services in any language, by the same policy as the middleware.

  --grpc   Envoy's rate limit service, and grpc.health.v1. The policy's descriptors section says
           which endpoint and identities a descriptor means.
  --http   /forward-auth for nginx, Caddy, Traefik and HAProxy, whose addresses
           the policy must trust; /livez, /readyz and /metrics.
  --api    a JSON API for programs, off by default.

All limits of a request are charged, or none. --tls-cert and --tls-key encrypt all three ports. An
ADDRESS is host:port, unix:/path for a Unix socket, or fd:3 for a socket that systemd passes: a
restart then loses no connection.

The policy, keys, tokens and certificates are read again when their files change, and at once at
SIGHUP. A file with an error is reported, and the old content stays in use. At SIGTERM, /readyz
reports "not ready" immediately; serve then answers for --drain-delay longer, finishes the requests in
flight, and ends.

Logs have short forms of subjects, with a hash that is another one in each process. With one random
text in RLFUNC_SUBJECT_KEY, at least 16 bytes, it is the same in all of them, and ` + "`rlfunc inspect`" + ` shows it.`,
		Example: `  rlfunc serve --policy limits.yaml --redis redis://127.0.0.1:6379
  rlfunc serve --policy limits.yaml --redis redis://redis:6379 --grpc :8081 --http :8080 --drain-delay 5s
  rlfunc serve --policy limits.yaml --http unix:/run/rlfunc/http.sock --grpc unix:/run/rlfunc/grpc.sock`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	f.drain = 10 * time.Second
	cmd.Flags().StringVar(&f.grpc, "grpc", "127.0.0.1:8081", "`ADDRESS` of the gRPC port")
	cmd.Flags().StringVar(&f.http, "http", "127.0.0.1:8080", "`ADDRESS` of the HTTP port")
	cmd.Flags().StringVar(&f.api, "api", "", "`ADDRESS` of the JSON API for programs (default none)")
	cmd.Flags().StringVar(&f.tokens, "api-tokens", "", "`FILE` with the SHA-256 digests of the API's bearer tokens; required beyond loopback without --tls-client-ca")
	cmd.Flags().StringVar(&f.tls.Cert, "tls-cert", "", "`FILE` of the certificate, in PEM, of all ports but --health; reloaded (default none)")
	cmd.Flags().StringVar(&f.tls.Key, "tls-key", "", "`FILE` of the certificate's key, in PEM")
	cmd.Flags().StringVar(&f.tls.ClientCA, "tls-client-ca", "", "`FILE` of the authorities, in PEM, whose client certificates peers need (default none)")
	cmd.Flags().StringVar(&f.health, "health", "", "`ADDRESS` of another port for /livez and /readyz, without TLS (default none)")
	cmd.Flags().IntVar(&f.connections, "max-connections", 1024, "open connections of each port; further ones wait")
	durationFlag(cmd, &f.delay, "drain-delay", "how long to keep answering after SIGTERM (default none)")
	durationFlag(cmd, &f.drain, "drain", "how long requests in flight may take after --drain-delay; with 0s, open connections are closed immediately")
	return a.withRedis(a.withPolicyFile(cmd))
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	if f.connections < 1 {
		return usageErrorf("--max-connections must be at least 1, got %d", f.connections)
	}
	if f.delay < 0 || f.drain < 0 {
		return usageErrorf("--drain-delay and --drain must not be negative")
	}
	if f.tokens != "" && f.api == "" {
		return usageErrorf("--api-tokens needs --api")
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	var err error
	if a.policy, err = a.policyFile(a.policy, "--policy FILE"); err != nil {
		return err
	}
	calls := []*fcall.Library{guard.Library, override.Library}
	if f.api != "" {
		calls = append(calls, cost.Library, challenge.Library, ratelimit.Library, abuse.Library)
	}
	conn, err := a.connect("rlfunc-serve", calls...)
	if err != nil {
		return err
	}
	defer conn.Close()
	logger := slog.New(slog.NewJSONHandler(a.err, nil))
	slog.SetDefault(logger) // for records of packages that have no other
	if f.drain == 0 {
		f.drain = -1
	}
	key, err := subjectKey()
	if err != nil {
		return err
	}
	o := serve.Options{
		Redis: conn.Client, Policy: a.policy, Tokens: f.tokens, Connections: f.connections, Delay: f.delay, Drain: f.drain,
		Logger: logger, Reload: hangups, SubjectKey: key,
	}
	if f.tls != (serve.TLS{}) {
		o.TLS = &f.tls
	}
	for _, port := range []struct {
		flag, address string
		to            *net.Listener
	}{{"--grpc", f.grpc, &o.GRPC}, {"--http", f.http, &o.HTTP}, {"--api", f.api, &o.API}, {"--health", f.health, &o.Health}} {
		if port.address == "" && port.to != &o.GRPC && port.to != &o.HTTP {
			continue
		}
		if port.address == "" {
			return usageErrorf("%s must be an address, such as 127.0.0.1:8080", port.flag)
		}
		l, err := serve.Listen(port.address)
		if err != nil {
			return &failure{exitNoListener, fmt.Errorf("%s: %w", port.flag, err)}
		}
		defer l.Close()
		*port.to = l
	}
	err = serve.Run(ctx, o)
	if invalid := (*serve.StartError)(nil); errors.As(err, &invalid) {
		return &failure{exitInvalid, err}
	} else if errors.Is(err, serve.ErrCutOff) {
		return &failure{exitCutOff, err}
	}
	return err
}

// subjectKey returns the key of the short forms of subjects in logs, nil without one.
func subjectKey() ([]byte, error) {
	const name, least = "RLFUNC_SUBJECT_KEY", 16
	key, ok := os.LookupEnv(name)
	if !ok {
		return nil, nil
	}
	if len(key) < least {
		return nil, usageErrorf("%s must have at least %d bytes, got %d: make one with `openssl rand -hex 16`", name, least, len(key))
	}
	return []byte(key), nil
}
