package serve

import (
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"

	"golang.org/x/net/netutil"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/serve/internal/api"
)

// A web is an HTTP server and its listener.
type web struct {
	*http.Server
	port net.Listener
}

func (w web) serve(connections int) error {
	port := netutil.LimitListener(w.port, connections)
	if w.TLSConfig != nil {
		return w.ServeTLS(port, "", "")
	}
	return w.Serve(port)
}

// newWebs returns the HTTP servers. Their background work ends with the context.
func newWebs(ending context.Context, o *Options, g *guard.Guard, probes, proxies http.Handler) (webs []web, err error) {
	add := func(port net.Listener, h http.Handler, config *tls.Config) {
		webs = append(webs, web{&http.Server{
			Handler: h, TLSConfig: config, ReadTimeout: o.ReadTimeout, WriteTimeout: writeFor, IdleTimeout: idleFor, MaxHeaderBytes: maxHTTPBytes,
			HTTP2: &http.HTTP2Config{WriteByteTimeout: o.ReadTimeout}, ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
		}, port})
	}
	config, err := o.newTLS(ending, tls.VerifyClientCertIfGiven, "h2", "http/1.1") // the handlers require it
	if err != nil {
		return nil, err
	}
	add(o.HTTP, proxies, config)
	if o.Health != nil {
		add(o.Health, probes, nil)
	}
	if o.Pprof != nil {
		add(o.Pprof, profiler(), nil)
	}
	if o.API == nil {
		return webs, nil
	}
	if config, err = o.newTLS(ending, tls.RequireAndVerifyClientCert, "h2", "http/1.1"); err != nil {
		return nil, err
	}
	programs, err := newAPI(ending, o, g)
	if err != nil {
		return nil, err
	}
	add(o.API, programs, config)
	return webs, nil
}

// probePort returns the handler of probes.
func probePort(ready http.Handler) *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("GET /readyz", ready)
	return mux
}

// proxyPort returns the handler of the HTTP port.
func proxyPort(o *Options, ready, metrics, forwardAuth http.Handler) http.Handler {
	if o.TLS != nil && o.TLS.ClientCA != "" {
		metrics, forwardAuth = withCertificate(metrics), withCertificate(forwardAuth)
	}
	mux := probePort(ready)
	mux.Handle("GET /metrics", metrics)
	mux.Handle("/forward-auth", forwardAuth)
	return mux
}

// newAPI returns the handler of the port for programs.
func newAPI(ending context.Context, o *Options, g *guard.Guard) (http.Handler, error) {
	h, err := api.New(g, o.Redis, o.Logger)
	if err != nil {
		return nil, err
	}
	if o.Tokens != "" {
		return api.Authorize(ending, o.Tokens, h)
	}
	addr, ok := o.API.Addr().(*net.TCPAddr)
	if ok && !addr.IP.IsLoopback() && (o.TLS == nil || o.TLS.ClientCA == "") {
		return nil, fmt.Errorf("--api: %s is not a loopback address, so programs there must prove who they are: give --api-tokens or --tls-client-ca", addr)
	}
	return h, nil
}

func profiler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
