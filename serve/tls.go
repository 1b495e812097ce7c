package serve

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/internal/reload"
)

// TLS are the files of the server's certificate. They are read again when they change, at most once a second and at a new connection.
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
	logger *slog.Logger
	files  reload.Files

	mu      sync.Mutex
	checked time.Time
	config  *tls.Config
}

// newTLS returns the configuration of a port, or nil without files. auth applies if there is a ClientCA.
func (o *Options) newTLS(auth tls.ClientAuthType, protos ...string) (*tls.Config, error) {
	if o.TLS == nil {
		return nil, nil
	}
	c := &certificates{TLS: *o.TLS, auth: auth, protos: protos, logger: o.Logger}
	c.files.Paths, c.files.Max, c.files.Apply = []string{c.Cert, c.Key}, 1<<20, c.apply
	if c.ClientCA != "" {
		c.files.Paths = append(c.files.Paths, c.ClientCA)
	}
	if err := c.files.Load(); err != nil {
		return nil, fmt.Errorf("tls: %w", err)
	}
	return &tls.Config{GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return c.current(), nil }, NextProtos: protos}, nil
}

// current returns the configuration for a new connection.
func (c *certificates) current() *tls.Config {
	const interval = time.Second
	c.mu.Lock()
	defer c.mu.Unlock()
	if now := time.Now(); now.Sub(c.checked) >= interval {
		c.checked = now
		if _, err := c.files.Poll(now); err != nil {
			c.logger.Warn("certificates not reloaded; the old ones stay in use", "error", err)
		}
	}
	return c.config
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
	c.config = config
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
