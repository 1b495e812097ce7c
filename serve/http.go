package serve

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/serve/internal/api"
)

// newHTTP returns a server with the bounds of a port.
func newHTTP(o Options, h http.Handler) *http.Server {
	return &http.Server{
		Handler: h, ReadTimeout: o.ReadTimeout, WriteTimeout: writeFor, IdleTimeout: idleFor, MaxHeaderBytes: maxHTTPBytes,
		ErrorLog: slog.NewLogLogger(o.Logger.Handler(), slog.LevelDebug),
	}
}

// proxyPort returns the handler of the HTTP port.
func proxyPort(ready, metrics, forwardAuth http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.Handle("GET /readyz", ready)
	mux.Handle("GET /metrics", metrics)
	mux.Handle("/forward-auth", forwardAuth)
	return mux
}

// newAPI returns the handler of the port for programs, and a func that ends its background work.
func newAPI(o *Options, g *guard.Guard) (http.Handler, func() error, error) {
	h, err := api.New(g, o.Redis)
	if err != nil {
		return nil, nil, err
	}
	if o.Tokens != "" {
		return api.Authorize(o.Tokens, h)
	}
	if addr, ok := o.API.Addr().(*net.TCPAddr); ok && !addr.IP.IsLoopback() {
		return nil, nil, errors.New("the API's address is not a loopback address: programs need tokens there")
	}
	return h, func() error { return nil }, nil
}
