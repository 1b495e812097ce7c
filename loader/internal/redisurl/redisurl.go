package redisurl

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

// An Address is what a URL says.
type Address struct {
	Kind Kind
	// Options are those of every server. Sentinels have a user and password of their own.
	Options                        *redis.Options
	Hosts                          []string // of a cluster: some nodes; of Sentinel: all sentinels
	Primary                        string   // the primary's name, of Sentinel
	SentinelUser, SentinelPassword string

	text string
}

// A Kind is the topology that a URL names.
type Kind string

// The kinds.
const (
	OneServer Kind = ""
	Cluster   Kind = "cluster"
	Sentinel  Kind = "sentinel"
)

// Parse reads a URL. why says what is wrong with it in one line that never shows a password, or is empty.
func Parse(text string) (a *Address, why string) {
	text = strings.TrimSpace(text)
	scheme, rest, ok := strings.Cut(text, "://")
	switch {
	case text == "":
		return nil, "it is empty; redis://127.0.0.1:6379 is one"
	case !ok:
		return nil, "it must begin with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://; redis://127.0.0.1:6379 is one"
	}
	base, topology, _ := strings.Cut(strings.ToLower(scheme), "+")
	a = &Address{Kind: Kind(topology)}
	if base != "redis" && base != "rediss" && base != "unix" || base == "unix" && topology != "" || !a.Kind.known(scheme) {
		return nil, "scheme " + strconv.Quote(scheme) + " is not one of redis, rediss, unix, redis+cluster, rediss+cluster, redis+sentinel, rediss+sentinel"
	}
	p := parts{scheme: base, rest: rest}
	if a.Kind != OneServer {
		if why := p.split(a); why != "" {
			return nil, why
		}
	}
	for _, rest := range p.servers() {
		o, why := parseServer(p.scheme, rest, a)
		if why != "" {
			return nil, why
		}
		if a.Options == nil {
			a.Options = o
		}
		a.Hosts = append(a.Hosts, o.Addr)
	}
	if a.Kind == Cluster && a.Options.DB != 0 {
		return nil, "a cluster has database 0 only"
	}
	a.text = a.withoutSecrets(base)
	return a, ""
}

func (k Kind) known(scheme string) bool {
	return k == Cluster || k == Sentinel || !strings.Contains(scheme, "+")
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
	if a.Kind == Sentinel {
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
		a.Primary = decoded
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
	if a.Kind == Sentinel && u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "26379")
	}
	query := u.Query()
	settings, why := takeTLS(query, u.Scheme)
	if why != "" {
		return nil, why
	}
	if a.Kind == Sentinel {
		a.SentinelUser, a.SentinelPassword = take(query, "sentinel_username"), take(query, "sentinel_password")
	}
	u.RawQuery = query.Encode()
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return nil, strings.TrimPrefix(oneLine.Replace(err.Error()), "redis: ")
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
	db := strconv.Itoa(a.Options.DB)
	switch {
	case a.Kind == Cluster:
		return scheme + "+cluster://" + strings.Join(a.Hosts, ",")
	case a.Kind == Sentinel:
		return scheme + "+sentinel://" + url.PathEscape(a.Primary) + "@" + strings.Join(a.Hosts, ",") + "/" + db
	case scheme == "unix" && a.Options.DB != 0:
		return (&url.URL{Scheme: scheme, Path: a.Options.Addr, RawQuery: "db=" + db}).String()
	case scheme == "unix":
		return (&url.URL{Scheme: scheme, Path: a.Options.Addr}).String()
	}
	return (&url.URL{Scheme: scheme, Host: a.Options.Addr, Path: "/" + db}).String()
}

// String is the address without user, password and options.
func (a *Address) String() string { return a.text }

var oneLine = strings.NewReplacer("\r\n", " ", "\r", " ", "\n", " ")

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
