package loader

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// An Address is a parsed URL of one server, a cluster or a primary behind Sentinel.
type Address struct {
	kind string // the topology: "", clusterKind or sentinelKind
	// options are those of every server. Sentinels have a user and password of their own.
	options                        *redis.Options
	hosts                          []string // of a cluster: some nodes; of Sentinel: all sentinels
	primary                        string   // the primary's name, of Sentinel
	sentinelUser, sentinelPassword string

	text string
}

const (
	clusterKind  = "cluster"
	sentinelKind = "sentinel"
)

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

// Open returns the target of a URL that [ParseURL] accepts. It connects to nothing yet. The caller closes the target.
func Open(url string) (*Target, error) {
	a, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	return a.Open(), nil
}

// Open returns the target of the address. It connects to nothing yet. The caller closes the target.
func (a *Address) Open() *Target {
	client := a.NewClient()
	return &Target{caller: client, address: a, opened: client}
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
	o := *a.options
	several := redis.UniversalOptions{
		Addrs: a.hosts, MasterName: a.primary, SentinelUsername: a.sentinelUser, SentinelPassword: a.sentinelPassword,
		ClientName: o.ClientName, Protocol: o.Protocol, Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig,
		MaxRetries: o.MaxRetries, MinRetryBackoff: o.MinRetryBackoff, MaxRetryBackoff: o.MaxRetryBackoff,
		DialTimeout: o.DialTimeout, DialerRetries: o.DialerRetries, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		ContextTimeoutEnabled: true, PoolFIFO: o.PoolFIFO, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, MaxConcurrentDials: o.MaxConcurrentDials,
		MinIdleConns: o.MinIdleConns, MaxIdleConns: o.MaxIdleConns, MaxActiveConns: o.MaxActiveConns,
		ConnMaxIdleTime: o.ConnMaxIdleTime, ConnMaxLifetime: o.ConnMaxLifetime, ConnMaxLifetimeJitter: o.ConnMaxLifetimeJitter,
	}
	switch a.kind {
	case clusterKind:
		return redis.NewClusterClient(several.Cluster())
	case sentinelKind:
		return redis.NewFailoverClient(several.Failover())
	}
	return redis.NewClient(&o)
}

// parseURL reads a URL. why says what is wrong with it in one line that never shows a password, or is empty.
func parseURL(text string) (a *Address, why string) {
	text = strings.TrimSpace(text)
	scheme, rest, ok := strings.Cut(text, "://")
	switch {
	case text == "":
		return nil, "it is empty; redis://127.0.0.1:6379 is one"
	case !ok:
		return nil, "it must begin with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://; redis://127.0.0.1:6379 is one"
	}
	base, topology, _ := strings.Cut(strings.ToLower(scheme), "+")
	a = &Address{kind: topology}
	if base != "redis" && base != "rediss" && base != "unix" || base == "unix" && topology != "" || !knownKind(topology, scheme) {
		return nil, "scheme " + strconv.Quote(scheme) + " is not one of redis, rediss, unix, redis+cluster, rediss+cluster, redis+sentinel, rediss+sentinel"
	}
	p := parts{scheme: base, rest: rest}
	if a.kind != "" {
		if why := p.split(a); why != "" {
			return nil, why
		}
	}
	for _, rest := range p.servers() {
		o, why := parseServer(p.scheme, rest, a)
		if why != "" {
			return nil, why
		}
		if a.options == nil {
			a.options = o
		}
		a.hosts = append(a.hosts, o.Addr)
	}
	if a.kind == clusterKind && a.options.DB != 0 {
		return nil, "a cluster has database 0 only"
	}
	a.text = a.withoutSecrets(base)
	return a, ""
}

func knownKind(kind, scheme string) bool {
	return kind == clusterKind || kind == sentinelKind || !strings.Contains(scheme, "+")
}

// parts of a URL after its scheme, of one server or several.
type parts struct {
	scheme, rest string
	user, tail   string // "user:password@" and "/0?dial_timeout=2s"
	hosts        []string
}

// split finds the hosts, and the name of the primary before those of sentinels.
func (p *parts) split(a *Address) (why string) {
	authority := p.rest
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority, p.tail = authority[:end], authority[end:]
	}
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		p.user, authority = authority[:at+1], authority[at+1:]
	} else if strings.Contains(p.tail, "@") {
		return "the part behind :// is not user:password@hosts; " + escapes(p.rest[:strings.LastIndexByte(p.rest, '@')])
	}
	if a.kind == sentinelKind {
		const form = "; redis+sentinel://user:password@main@host1,host2 is one, with main the name that the sentinels have for the primary"
		if p.user == "" {
			return "the name of the primary is missing" + form
		}
		name := strings.TrimSuffix(p.user, "@")
		at := strings.LastIndexByte(name, '@')
		p.user, name = name[:at+1], name[at+1:]
		decoded, err := url.PathUnescape(name)
		if err != nil || name == "" || strings.Contains(name, ":") {
			return "before the last @ stands the name of the primary" + form
		}
		a.primary = decoded
	}
	p.hosts = strings.Split(authority, ",")
	for i, host := range p.hosts {
		p.hosts[i] = strings.TrimSpace(host)
		if p.hosts[i] == "" {
			return "a host is missing; several are separated by commas: host1:7001,host2:7002"
		}
	}
	return ""
}

// servers are the parts after :// of each server's own URL.
func (p *parts) servers() []string {
	if p.hosts == nil {
		return []string{p.rest}
	}
	var all []string
	for _, host := range p.hosts {
		all = append(all, p.user+host+p.tail)
	}
	return all
}

func parseServer(scheme, rest string, a *Address) (*redis.Options, string) {
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		// The cause quotes parts of the URL, and a part of the password may be among them.
		at := strings.LastIndexByte(rest, '@')
		if _, err := url.Parse(scheme + "://" + rest[at+1:]); err == nil && at >= 0 {
			return nil, "the part before the last @ is not user:password; " + escapes(rest[:at])
		}
		return nil, "the part behind :// is not host:port/db; an IPv6 address goes in brackets, and a port is a number"
	}
	if why := checkParts(u); why != "" {
		return nil, why
	}
	if a.kind == sentinelKind && u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "26379")
	}
	query := u.Query()
	settings, why := takeTLS(query, u.Scheme)
	if why != "" {
		return nil, why
	}
	if a.kind == sentinelKind {
		a.sentinelUser, a.sentinelPassword = take(query, "sentinel_username"), take(query, "sentinel_password")
	}
	u.RawQuery = query.Encode()
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, strings.TrimPrefix(oneLine(err.Error()), "redis: ")
	}
	if o.DB < 0 {
		return nil, "the database must be a number from 0 up"
	}
	if o.TLSConfig != nil {
		settings.InsecureSkipVerify = o.TLSConfig.InsecureSkipVerify
		o.TLSConfig = settings
	}
	// A failed read is reported and not repeated: the operator decides. An address that swallows packets would otherwise
	// cost 20 dial timeouts.
	if !query.Has("max_retries") {
		o.MaxRetries = -1
	}
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	return o, ""
}

// escapes says how the characters of a user and password that end it too early, or begin an escape, are written.
func escapes(user string) string {
	var found []string
	for _, c := range "%/?#@[] " {
		_, err := url.PathUnescape(user)
		if strings.ContainsRune(user, c) && (c != '%' || err != nil) {
			found = append(found, fmt.Sprintf("%q as %%%02X", c, c))
		}
	}
	if found == nil {
		return "percent-encode what is neither an ASCII letter nor a digit"
	}
	return "in a user or password write " + strings.Join(found, ", ")
}

func take(query url.Values, name string) string {
	value := query.Get(name)
	query.Del(name)
	return value
}

func checkParts(u *url.URL) string {
	if u.Fragment != "" {
		return "a # ends the URL; in a user or password write it as %23"
	}
	if u.Scheme == "unix" {
		if u.Host != "" || u.Path == "" || u.Path == "/" {
			return "a unix socket is written with its whole path: unix:///run/redis.sock"
		}
		return ""
	}
	if u.Hostname() == "" {
		return "the host is missing"
	}
	if strings.Contains(u.Hostname(), ",") {
		return "several hosts are of a cluster or of sentinels: redis+cluster://host1,host2 or redis+sentinel://main@host1,host2"
	}
	if strings.Contains(u.Hostname(), ":") && !strings.HasPrefix(u.Host, "[") {
		return "an IPv6 address goes in brackets: redis://[::1]:6379"
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "the port must be a number from 1 to 65535"
		}
	}
	if path := strings.Trim(u.Path, "/"); path != "" {
		if n, err := strconv.Atoi(path); err != nil || n < 0 {
			return "the database after the host must be a number from 0 up"
		}
	}
	return ""
}

// withoutSecrets is the address without user, password and options.
func (a *Address) withoutSecrets(scheme string) string {
	db := strconv.Itoa(a.options.DB)
	switch {
	case a.kind == clusterKind:
		return scheme + "+cluster://" + strings.Join(a.hosts, ",")
	case a.kind == sentinelKind:
		return scheme + "+sentinel://" + url.PathEscape(a.primary) + "@" + strings.Join(a.hosts, ",") + "/" + db
	case scheme == "unix" && a.options.DB != 0:
		return (&url.URL{Scheme: scheme, Path: a.options.Addr, RawQuery: "db=" + db}).String()
	case scheme == "unix":
		return (&url.URL{Scheme: scheme, Path: a.options.Addr}).String()
	}
	return (&url.URL{Scheme: scheme, Host: a.options.Addr, Path: "/" + db}).String()
}

// String returns the address without user, password and options.
func (a *Address) String() string { return a.text }

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
