package loader

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// An Address is a parsed URL of one server, a cluster or a primary behind Sentinel.
type Address struct {
	options redis.UniversalOptions
	text    string
}

// ParseURL parses
//
//	redis://[user[:password]@]host[:port][/db]
//	unix://[user[:password]@]/path[?db=n]
//	redis+cluster://[user[:password]@]host[:port],host[:port]...
//	redis+sentinel://[user[:password]@]primary@host[:port],host[:port]...[/db]
//
// rediss means TLS. The query takes go-redis's options (dial_timeout=2s&protocol=2) and
//
//	tls_ca=FILE                            trust these certificate authorities instead of the system's
//	tls_cert=FILE&tls_key=FILE             present this client certificate
//	tls_server_name=NAME                   the name in the servers' certificates, by default the host
//	sentinel_username, sentinel_password   credentials for the sentinels; those before the @ are for the servers
//
// ParseURL reads the files and connects to nothing. Its errors are ErrURL and never show a password.
func ParseURL(text string) (*Address, error) {
	a, why := parseURL(text)
	if why != "" {
		return nil, &Error{Op: "parse the redis url", Reason: ErrURL, Text: why}
	}
	return a, nil
}

// Open returns the target of the address. It connects to nothing yet. The caller closes the target.
func (a *Address) Open() *Target {
	client := a.NewClient()
	return &Target{caller: client, address: a, opened: client}
}

// Identify makes connections of clients that NewClient returns show up in CLIENT LIST under a name, unless the URL has a client_name, and
// with the libraries that they call.
func (a *Address) Identify(name string, calls ...*fcall.Library) {
	a.options.ClientName = cmp.Or(a.options.ClientName, name)
	a.options.IdentitySuffix = fcall.Identity(calls...)
}

// Close closes what Open has opened. A target of NewTarget has nothing to close.
func (t *Target) Close() error {
	if t.opened == nil {
		return nil
	}
	return t.opened.Close()
}

// NewClient returns a client of the address for calls: a *redis.Client, one of NewFailoverClient, or a *redis.ClusterClient.
// It does not retry commands. The caller closes it.
func (a *Address) NewClient() redis.UniversalClient {
	o := a.options
	return redis.NewUniversalClient(&o)
}

// String returns the address without user, password and options.
func (a *Address) String() string { return a.text }

var schemes = []string{"redis", "rediss", "unix", "redis+cluster", "rediss+cluster", "redis+sentinel", "rediss+sentinel"}

// form is what a URL has to be that cannot be read. The cause would quote parts of it, and a part of the password may be among them.
const form = "the part behind :// is not user:password@host:port/db; in a user or password write % as %25, / as %2F, ? as %3F, # as %23, @ as %40, " +
	"[ as %5B and ] as %5D; an IPv6 address goes in brackets, a port is a number from 1 to 65535, and a database one from 0 up"

// parseURL reads a URL. why says what is wrong with it in one line that never shows a password, or is empty.
func parseURL(text string) (a *Address, why string) {
	scheme, rest, _ := strings.Cut(strings.TrimSpace(text), "://")
	scheme = strings.ToLower(scheme)
	if !slices.Contains(schemes, scheme) {
		return nil, "it must begin with " + strings.Join(schemes, "://, ") + "://; redis://127.0.0.1:6379 is one"
	}
	base, kind, _ := strings.Cut(scheme, "+")
	authority, tail := rest, ""
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority, tail = rest[:end], rest[end:]
	}
	at := strings.LastIndexByte(authority, '@')
	user, hosts := authority[:at+1], strings.Split(authority[at+1:], ",")
	a = &Address{}
	if kind == "sentinel" {
		name := strings.TrimSuffix(user, "@")
		at := strings.LastIndexByte(name, '@')
		user, name = name[:at+1], name[at+1:]
		decoded, err := url.PathUnescape(name)
		if err != nil || name == "" || strings.Contains(name, ":") {
			return nil, "before the last @ stands the name of the primary: redis+sentinel://user:password@main@host1,host2 is one, with main the name that the sentinels have for the primary"
		}
		a.options.MasterName = decoded
	}
	if kind == "" && len(hosts) > 1 {
		return nil, "several hosts are of a cluster or of sentinels: redis+cluster://host1,host2 or redis+sentinel://main@host1,host2"
	}
	for _, host := range hosts {
		u, err := url.Parse(base + "://" + user + strings.TrimSpace(host) + tail)
		if err != nil || u.Fragment != "" {
			return nil, form
		}
		addr, why := addrOf(u, kind)
		if why != "" {
			return nil, why
		}
		a.options.Addrs = append(a.options.Addrs, addr)
		if len(a.options.Addrs) == 1 {
			if why := a.read(u); why != "" {
				return nil, why
			}
		}
	}
	a.options.IsClusterMode = kind == "cluster"
	if a.options.IsClusterMode && a.options.DB != 0 {
		return nil, "a cluster has database 0 only"
	}
	a.text = a.withoutSecrets(scheme)
	return a, ""
}

// addrOf returns the address of one server.
func addrOf(u *url.URL, kind string) (addr, why string) {
	if u.Scheme == "unix" {
		if u.Host != "" || strings.Trim(u.Path, "/") == "" {
			return "", "a unix socket is written with its whole path: unix:///run/redis.sock"
		}
		return u.Path, ""
	}
	port := cmp.Or(u.Port(), map[string]string{"sentinel": "26379"}[kind], "6379")
	number, err := strconv.Atoi(port)
	db, dbErr := strconv.Atoi(cmp.Or(strings.Trim(u.Path, "/"), "0"))
	switch {
	case u.Hostname() == "":
		return "", "a host is missing; redis://127.0.0.1:6379 is a URL, and several hosts are separated by commas"
	case err != nil || number < 1 || number > 65535 || dbErr != nil || db < 0 || strings.Contains(u.Hostname(), ":") && u.Host[0] != '[':
		return "", form
	}
	return net.JoinHostPort(u.Hostname(), port), ""
}

// read reads the options of a server's URL, which are those of all.
func (a *Address) read(u *url.URL) (why string) {
	query := u.Query()
	take := func(name string) string {
		defer query.Del(name)
		return query.Get(name)
	}
	if u.Scheme != "rediss" && strings.Contains(u.RawQuery, "tls_") {
		return "tls_ca, tls_cert, tls_key and tls_server_name are for TLS, and the scheme is not rediss"
	}
	settings := &tls.Config{MinVersion: tls.VersionTLS12, ServerName: take("tls_server_name")}
	if why := readTLS(settings, take("tls_ca"), take("tls_cert"), take("tls_key")); why != "" {
		return why
	}
	several := &a.options
	if several.MasterName != "" {
		several.SentinelUsername, several.SentinelPassword = take("sentinel_username"), take("sentinel_password")
	}
	u.RawQuery = query.Encode()
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return strings.TrimPrefix(oneLine(err.Error()), "redis: ")
	}
	if o.DB < 0 {
		return form
	}
	if o.TLSConfig != nil { // go-redis has set the name of the first server for all
		settings.InsecureSkipVerify = o.TLSConfig.InsecureSkipVerify
		several.TLSConfig = settings
	}
	several.Username, several.Password, several.DB, several.Protocol, several.ClientName = o.Username, o.Password, o.DB, o.Protocol, o.ClientName
	several.DialTimeout, several.ReadTimeout, several.WriteTimeout, several.ContextTimeoutEnabled = o.DialTimeout, o.ReadTimeout, o.WriteTimeout, true
	several.MinRetryBackoff, several.MaxRetryBackoff = o.MinRetryBackoff, o.MaxRetryBackoff
	several.PoolFIFO, several.PoolSize, several.PoolTimeout, several.MaxConcurrentDials = o.PoolFIFO, o.PoolSize, o.PoolTimeout, o.MaxConcurrentDials
	several.MinIdleConns, several.MaxIdleConns, several.MaxActiveConns = o.MinIdleConns, o.MaxIdleConns, o.MaxActiveConns
	several.ConnMaxIdleTime, several.ConnMaxLifetime, several.ConnMaxLifetimeJitter = o.ConnMaxIdleTime, o.ConnMaxLifetime, o.ConnMaxLifetimeJitter
	// A failed read is reported and not repeated: the operator decides. An address that swallows packets would otherwise cost 20 dial timeouts.
	several.MaxRetries, several.DialerRetries = -1, 1
	if query.Has("max_retries") {
		several.MaxRetries = o.MaxRetries
	}
	return ""
}

// readTLS reads the files of a certificate authority and of a client certificate, where they are given. Without a server name in the
// settings, the name or address that is connected to is looked for in the certificate, for each server its own.
func readTLS(settings *tls.Config, ca, cert, key string) (why string) {
	if ca != "" {
		text, err := os.ReadFile(ca)
		if err != nil {
			return "tls_ca: " + err.Error()
		}
		settings.RootCAs = x509.NewCertPool()
		if !settings.RootCAs.AppendCertsFromPEM(text) {
			return "tls_ca: " + ca + " holds no certificate in PEM"
		}
	}
	if (cert == "") != (key == "") {
		return "tls_cert and tls_key go together"
	}
	if cert != "" {
		pair, err := tls.LoadX509KeyPair(cert, key)
		if err != nil {
			return "tls_cert and tls_key: " + err.Error()
		}
		settings.Certificates = []tls.Certificate{pair}
	}
	return ""
}

// withoutSecrets is the address without user, password and options.
func (a *Address) withoutSecrets(scheme string) string {
	u := url.URL{Scheme: scheme, Host: strings.Join(a.options.Addrs, ","), Path: "/" + strconv.Itoa(a.options.DB)}
	switch {
	case a.options.IsClusterMode:
		u.Path = ""
	case a.options.MasterName != "":
		u.User = url.User(a.options.MasterName)
	case scheme == "unix":
		u.Host, u.Path = "", a.options.Addrs[0]
		if a.options.DB != 0 {
			u.RawQuery = "db=" + strconv.Itoa(a.options.DB)
		}
	}
	return u.String()
}
