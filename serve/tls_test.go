package serve_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/serve"
)

// trusting returns the configuration of a client that trusts an authority, with its certificate or without.
func trusting(t *testing.T, c engines.Certificates, certified bool) *tls.Config {
	t.Helper()
	ca, err := os.ReadFile(c.CA)
	if err != nil {
		t.Fatal(err)
	}
	config := &tls.Config{RootCAs: x509.NewCertPool()}
	config.RootCAs.AppendCertsFromPEM(ca)
	if certified {
		pair, err := tls.LoadX509KeyPair(c.Cert, c.Key)
		if err != nil {
			t.Fatal(err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config
}

// request returns the status of an HTTPS request on a new connection; 0 without an answer.
func request(t *testing.T, url string, config *tls.Config) int {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	defer transport.CloseIdleConnections()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(`{"endpoint": "total"}`))
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(url, "z") || strings.HasSuffix(url, "metrics") {
		r.Method = http.MethodGet
	}
	r.Header = http.Header{
		"Content-Type": {"application/json"}, "X-Forwarded-For": {"192.0.2.1"}, "X-Forwarded-Method": {"GET"}, "X-Forwarded-Host": {"h"}, "X-Forwarded-Uri": {"/"},
	}
	answer, err := (&http.Client{Transport: transport}).Do(r)
	if err != nil {
		return 0
	}
	defer answer.Body.Close()
	_, _ = io.Copy(io.Discard, answer.Body)
	return answer.StatusCode
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestRun_verifiesClientCertificatesAndReloadsItsOwn(t *testing.T) {
	files, other := engines.NewCertificates(t), engines.NewCertificates(t)
	api := listen(t, "0.0.0.0:0") // client certificates do in place of tokens
	p := start(t, embedded.New(embedded.Options{}).Client(), serve.Options{
		API: api, TLS: &serve.TLS{Cert: files.Cert, Key: files.Key, ClientCA: files.CA},
	}, grpc.WithTransportCredentials(credentials.NewTLS(trusting(t, files, true))))
	p.await(t, grpc_health_v1.HealthCheckResponse_SERVING)
	if _, err := p.ask(t.Context()); err != nil {
		t.Error(err)
	}
	port := api.Addr().String()
	programs := "https://127.0.0.1" + port[strings.LastIndex(port, ":"):] + "/v1/decide"
	known, unknown := trusting(t, files, true), trusting(t, files, false)
	stranger := trusting(t, files, false)
	stranger.Certificates = trusting(t, other, true).Certificates
	proxies := strings.Replace(p.web, "http:", "https:", 1)
	for _, c := range []struct {
		url    string
		config *tls.Config
		want   int
	}{
		{proxies + "/forward-auth", known, 204},
		{proxies + "/forward-auth", unknown, 403},
		{proxies + "/forward-auth", stranger, 0},
		{proxies + "/metrics", unknown, 403},
		{proxies + "/livez", unknown, 200},
		{proxies + "/readyz", unknown, 200},
		{programs, known, 200},
		{programs, unknown, 0},
		{programs, stranger, 0},
	} {
		if got := request(t, c.url, c.config); got != c.want {
			t.Errorf("%s: %d, want %d", c.url, got, c.want)
		}
	}

	// A key that does not fit keeps the old pair. The new pair counts at new connections of every port.
	copyFile(t, other.Cert, files.Cert)
	for end := time.Now().Add(1200 * time.Millisecond); time.Now().Before(end); { // longer than the files are not read
		if got := request(t, proxies+"/livez", unknown); got != 200 {
			t.Fatalf("with a key that does not fit: %d", got)
		}
	}
	copyFile(t, other.CA, files.CA)
	copyFile(t, other.Key, files.Key)
	fresh := trusting(t, other, true)
	for _, url := range []string{proxies + "/livez", programs} {
		for deadline := time.Now().Add(20 * time.Second); request(t, url, fresh) != 200; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("%s does not reload its certificate", url)
			}
		}
		if got := request(t, url, known); got != 0 {
			t.Errorf("%s: the old authority is trusted: %d", url, got)
		}
	}
	p.stop()
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}
