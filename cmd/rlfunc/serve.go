package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/duration"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/usage"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/abuse"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/gen/guard"
	"github.com/rlfunc/rlfunc/gen/override"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/loader"
	"github.com/rlfunc/rlfunc/serve"
)

type serveFlags struct {
	grpc, http   string
	api, tokens  string
	health       string
	pprof        string
	announce     string
	tls          serve.TLS
	listen       serve.ListenOptions
	mode         string
	senders      []string
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
  --http   /forward-auth for nginx, Caddy, Traefik, HAProxy and Kubernetes ingresses, whose addresses
           the policy must trust; /livez, /readyz and /metrics.
  --api    a JSON API for programs, off by default.

All limits of a request are charged, or none. --tls-cert and --tls-key encrypt all three ports. An
ADDRESS is host:port, or unix:/path for a Unix socket. With --take-over, a new process replaces one
that listens on the same Unix sockets without losing a request; the old one drains and ends.

The policy, keys, tokens and certificates are read again when their files change, and at once at
SIGHUP. A file with an error is reported, and the old content stays in use. At SIGTERM, /readyz
reports "not ready" immediately; serve then answers for --drain-delay longer, finishes the requests in
flight, and ends.`,
		Example: `  rlfunc serve --policy limits.yaml --redis redis://127.0.0.1:6379
  rlfunc serve --policy limits.yaml --redis redis://redis:6379 --grpc :8081 --http :8080 --drain-delay 5s
  rlfunc serve --policy limits.yaml --http unix:/run/rlfunc/http.sock --grpc unix:/run/rlfunc/grpc.sock --take-over`,
		Args: usage.None,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	f.drain = 10 * time.Second
	cmd.Flags().StringVar(&f.grpc, "grpc", "127.0.0.1:8081", "`ADDRESS` of the gRPC port")
	cmd.Flags().StringVar(&f.http, "http", "127.0.0.1:8080", "`ADDRESS` of the HTTP port")
	cmd.Flags().StringVar(&f.api, "api", "", "`ADDRESS` of the JSON API for programs (default none)")
	cmd.Flags().StringVar(&f.tokens, "api-tokens", "", "`FILE` with the SHA-256 digests of the API's bearer tokens; required beyond loopback without --tls-client-ca")
	cmd.Flags().StringVar(&f.tls.Cert, "tls-cert", "", "`FILE` of the certificate, in PEM, of all ports but --health and --pprof; reloaded (default none)")
	cmd.Flags().StringVar(&f.tls.Key, "tls-key", "", "`FILE` of the certificate's key, in PEM")
	cmd.Flags().StringVar(&f.tls.ClientCA, "tls-client-ca", "", "`FILE` of the authorities, in PEM, whose client certificates peers need (default none)")
	cmd.Flags().StringVar(&f.health, "health", "", "`ADDRESS` of another port for /livez and /readyz, without TLS (default none)")
	cmd.Flags().StringVar(&f.pprof, "pprof", "", "`ADDRESS` of Go's profiler, which may read the memory of the process (default none)")
	cmd.Flags().StringVar(&f.mode, "socket-mode", "0660", "octal permissions of the files of Unix sockets; who connects needs to write")
	cmd.Flags().BoolVar(&f.listen.TakeOver, "take-over", false, "replace Unix sockets on which another process listens, once this one is ready")
	cmd.Flags().StringSliceVar(&f.senders, "proxy-protocol", nil, "`ADDRESSES` or prefixes of peers, or unix, whose connections begin with a PROXY header; not of --health and --pprof (default none)")
	cmd.Flags().IntVar(&f.connections, "max-connections", 1024, "open connections of each port; further ones wait")
	cmd.Flags().StringVar(&f.announce, "announce-as", "rlfunc-serve", "`NAME` by which plan, deploy and retire see the process; empty: they do not")
	duration.Flag(cmd, &f.delay, "drain-delay", "how long to keep answering after SIGTERM (default none)")
	duration.Flag(cmd, &f.drain, "drain", "how long requests in flight may take after --drain-delay; with 0s, open connections are closed immediately")
	return a.withRedis(a.withPolicyFile(cmd))
}

func (a *app) serve(ctx context.Context, f serveFlags) error {
	if f.connections < 1 {
		return usage.Errorf("--max-connections must be at least 1, got %d", f.connections)
	}
	if f.delay < 0 || f.drain < 0 {
		return usage.Errorf("--drain-delay and --drain must not be negative")
	}
	if f.announce != "" && fcall.CheckNamespace(f.announce) != nil {
		return usage.Errorf("--announce-as must be 1 to 64 of the characters A-Z a-z 0-9 _ - . , or empty, got %q", f.announce)
	}
	if f.tokens != "" && f.api == "" {
		return usage.Errorf("--api-tokens needs --api")
	}
	mode, err := strconv.ParseUint(f.mode, 8, 32)
	if f.listen.Mode = fs.FileMode(mode); err != nil || mode == 0 || mode > 0o777 {
		return usage.Errorf("--socket-mode must be octal permissions such as 0660, got %s", f.mode)
	}
	socket := func(address string) bool { return strings.HasPrefix(address, "unix:") }
	if f.listen.TakeOver && !slices.ContainsFunc([]string{f.grpc, f.http, f.api}, socket) {
		return usage.Errorf("--take-over replaces Unix sockets only: give --http or --grpc one, such as unix:/run/rlfunc/http.sock")
	}
	if _, _, err := policy.ParseProxies(f.senders); err != nil {
		return usage.Errorf("--proxy-protocol %s: %v", strings.Join(f.senders, ","), err)
	}
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	if a.policy, err = a.policyFile(a.policy, "--policy FILE"); err != nil {
		return err
	}
	conn, err := a.connect()
	if err != nil {
		return err
	}
	defer conn.Close()
	logger := slog.New(slog.NewJSONHandler(a.err, nil))
	slog.SetDefault(logger) // for records of packages that have no other
	if f.drain == 0 {
		f.drain = -1
	}
	o := serve.Options{
		Redis: conn.Client, Policy: a.policy, Tokens: f.tokens, Connections: f.connections, Delay: f.delay, Drain: f.drain,
		Logger: logger, ProxyProtocol: f.senders, Reload: hangups,
	}
	if f.tls != (serve.TLS{}) {
		o.TLS = &f.tls
	}
	for _, port := range []struct {
		flag, address string
		to            *net.Listener
	}{{"--grpc", f.grpc, &o.GRPC}, {"--http", f.http, &o.HTTP}, {"--api", f.api, &o.API}, {"--health", f.health, &o.Health}, {"--pprof", f.pprof, &o.Pprof}} {
		if port.address == "" && port.to != &o.GRPC && port.to != &o.HTTP {
			continue
		}
		if port.address == "" {
			return usage.Errorf("%s must be an address, such as 127.0.0.1:8080", port.flag)
		}
		l, err := serve.Listen(port.address, f.listen)
		if err != nil {
			return &exitcode.Failure{Code: exitcode.NoListener, Err: fmt.Errorf("%s: %w", port.flag, err)}
		}
		defer l.Close()
		*port.to = l
	}
	if f.announce != "" {
		defer announce(ctx, o, f.announce)()
	}
	err = serve.Run(ctx, o)
	if invalid := (*serve.StartError)(nil); errors.As(err, &invalid) {
		return &exitcode.Failure{Code: exitcode.Invalid, Err: err}
	} else if errors.Is(err, serve.ErrCutOff) {
		return &exitcode.Failure{Code: exitcode.CutOff, Err: err}
	}
	return err
}

// announce announces the libraries that serve calls, until the returned function is called. It logs each kind of failure once.
func announce(ctx context.Context, o serve.Options, name string) (end func()) {
	libs := []*fcall.Library{guard.Library, override.Library}
	if o.API != nil {
		libs = append(libs, cost.Library, challenge.Library, ratelimit.Library, abuse.Library)
	}
	var logged sync.Map
	failed := func(err error) {
		e := &loader.Error{}
		errors.As(err, &e)
		if _, before := logged.LoadOrStore(e.Reason, true); !before {
			o.Logger.Warn("rlfunc plan, deploy and retire do not see this process", "error", err)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx)) // while it drains, it still calls them
	var all sync.WaitGroup
	for _, lib := range libs {
		all.Go(func() { loader.Announce(ctx, o.Redis, lib, loader.AnnounceOptions{Service: name, OnError: failed}) })
	}
	return func() {
		cancel()
		all.Wait()
	}
}
