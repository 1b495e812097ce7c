package serve

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/internal/reload"
)

// TLS are the files of the server's certificate. They are read again within a second after a change.
type TLS struct {
	// Cert and Key are PEM files of the certificate chain and its private key. Required.
	Cert, Key string
	// ClientCA is a PEM file of the authorities that sign client certificates, which peers then need; only /livez and /readyz do without.
	// Defaults to none: clients need no certificate.
	ClientCA string
}

// certificates hold the TLS configuration of one port.
type certificates struct {
	TLS
	auth   tls.ClientAuthType
	protos []string
	config atomic.Pointer[tls.Config]
}

// newTLS returns the configuration of a port, or nil without files. auth applies if there is a ClientCA. The files are followed until ctx
// ends.
func (o *Options) newTLS(ctx context.Context, auth tls.ClientAuthType, protos ...string) (*tls.Config, error) {
	if o.TLS == nil {
		return nil, nil
	}
	c := &certificates{TLS: *o.TLS, auth: auth, protos: protos}
	files := &reload.Files{Paths: []string{c.Cert, c.Key}, Max: 1 << 20, Apply: c.apply}
	if c.ClientCA != "" {
		files.Paths = append(files.Paths, c.ClientCA)
	}
	if err := files.Load(); err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	go reload.Follow(ctx, time.Second, func(_ string, err error) {
		if err != nil {
			o.Logger.Warn("certificates not reloaded; the old ones stay in use", "error", err)
		}
	}, files)()
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.config.Load(), nil }, NextProtos: protos}, nil
}

// apply makes a configuration of new files. It ends the resumption of old sessions.
func (c *certificates) apply(contents [][]byte) error {
	pair, err := tls.X509KeyPair(contents[0], contents[1])
	if err != nil {
		return fmt.Errorf("%s and %s: %w", c.Cert, c.Key, err)
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, NextProtos: c.protos}
	if c.ClientCA != "" {
		config.ClientAuth, config.ClientCAs = c.auth, x509.NewCertPool()
		if !config.ClientCAs.AppendCertsFromPEM(contents[2]) {
			return fmt.Errorf("%s has no certificate in PEM", c.ClientCA)
		}
	}
	c.config.Store(config)
	return nil
}

func (t *TLS) check() error {
	if t != nil && (t.Cert == "" || t.Key == "") {
		return errors.New("tls: a certificate needs its key, and client certificates need both")
	}
	return nil
}

// withCertificate passes on requests with a verified client certificate.
func withCertificate(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.TLS == nil || len(r.TLS.VerifiedChains) == 0 {
			http.Error(w, "a client certificate is required", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
