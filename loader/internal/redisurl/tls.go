package redisurl

import (
	"crypto/tls"
	"crypto/x509"
	"net/url"
	"os"
)

// takeTLS reads the options that begin with tls_, and takes them out of the query: go-redis does not know them. Without a server name, the
// name or address that is connected to is looked for in the certificate, for each server its own.
func takeTLS(query url.Values, scheme string) (settings *tls.Config, why string) {
	settings = &tls.Config{MinVersion: tls.VersionTLS12, ServerName: query.Get("tls_server_name")}
	ca, cert, key := query.Get("tls_ca"), query.Get("tls_cert"), query.Get("tls_key")
	for _, name := range []string{"tls_ca", "tls_cert", "tls_key", "tls_server_name"} {
		if query.Has(name) && scheme != "rediss" {
			return nil, name + " is for TLS, and the scheme is not rediss"
		}
		query.Del(name)
	}
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return nil, "tls_ca: " + err.Error()
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(text) {
			return nil, "tls_ca: " + ca + " holds no certificate in PEM"
		}
	}
	if (cert == "") != (key == "") {
		return nil, "tls_cert and tls_key go together"
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return nil, "tls_cert and tls_key: " + err.Error()
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return settings, ""
}
