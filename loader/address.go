package loader

import (
	"net"
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// An Address is a parsed URL of servers.
type Address struct {
	text string
	kind kind
	// options are of every server; those of a sentinel have a user and password of their own.
	options                        *redis.Options
	hosts                          []string // of a cluster: some nodes; of sentinels: all of them
	primary                        string   // its name among the sentinels
	sentinelUser, sentinelPassword string
}

// A kind is what stands behind a URL.
type kind string

const (
	oneServer  kind = ""
	ofCluster  kind = "cluster"
	ofSentinel kind = "sentinel"
)

// ParseURL reads
//
//	redis://[user[:password]@]host[:port][/db]
//	unix://[user[:password]@]/path[?db=n]
//	redis+cluster://[user[:password]@]host[:port],host[:port]...
//	redis+sentinel://[user[:password]@]primary@host[:port],host[:port]...[/db]
//
// with rediss for TLS, and behind a question mark go-redis's options (dial_timeout=2s&protocol=2) and these:
//
//	tls_ca=FILE                certificates of the authorities that are trusted, instead of the system's
//	tls_cert=FILE&tls_key=FILE what a server that asks for it gets
//	tls_server_name=NAME       what the servers' certificates are for; the address that is connected to, if it is not given
//	sentinel_username, sentinel_password   for the sentinels; user and password before the @ are for the servers
//
// Errors are ErrURL, and never show a password. The files are read; nothing is connected.
func ParseURL(text string) (*Address, error) {
	a, why := parseURL(strings.TrimSpace(text))
	if why != "" {
		return nil, &Error{Op: "read the redis url", Reason: ErrURL, Text: why}
	}
	return a, nil
}

func parseURL(text string) (a *Address, why string) {
	scheme, rest, ok := strings.Cut(text, "://")
	switch {
	case text == "":
		return nil, "it is empty; redis://127.0.0.1:6379 is one"
	case !ok:
		return nil, "it must begin with redis://, rediss://, unix://, redis+cluster:// or redis+sentinel://; redis://127.0.0.1:6379 is one"
	}
	base, behind, _ := strings.Cut(strings.ToLower(scheme), "+")
	a = &Address{kind: kind(behind)}
	if base != "redis" && base != "rediss" && base != "unix" || base == "unix" && behind != "" || !a.kind.known(scheme) {
		return nil, "scheme " + strconv.Quote(scheme) + " is not one of redis, rediss, unix, redis+cluster, rediss+cluster, redis+sentinel, rediss+sentinel"
	}
	p := parts{scheme: base, rest: rest}
	if a.kind != oneServer {
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
	if a.kind == ofCluster && a.options.DB != 0 {
		return nil, "a cluster has database 0 only"
	}
	a.text = a.shown(base)
	return a, ""
}

func (k kind) known(scheme string) bool {
	return k == ofCluster || k == ofSentinel || !strings.Contains(scheme, "+")
}

// parts of a URL behind its scheme, of one server or several.
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
		return "the part behind :// is not user:password@hosts; in a user or password write / as %2F, ? as %3F and # as %23"
	}
	if a.kind == ofSentinel {
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

// servers are the parts behind :// of each server's own URL.
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
		if strings.Contains(rest, "@") {
			return nil, "the part behind :// is not user:password@host:port; in a user or password write / as %2F, @ as %40, # as %23, ? as %3F and % as %25"
		}
		return nil, "the part behind :// is not host:port/db; an IPv6 address goes in brackets, and a port is a number"
	}
	if why := wrongParts(u); why != "" {
		return nil, why
	}
	if a.kind == ofSentinel && u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "26379")
	}
	query := u.Query()
	settings, why := takeTLS(query, u.Scheme)
	if why != "" {
		return nil, why
	}
	if a.kind == ofSentinel {
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
	// A read that can not be answered is reported, not repeated: a person or a pipeline decides. An address that swallows
	// packets would otherwise cost 20 dial timeouts.
	if !query.Has("max_retries") {
		o.MaxRetries = -1
	}
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	return o, ""
}

func take(query url.Values, name string) string {
	value := query.Get(name)
	query.Del(name)
	return value
}

func wrongParts(u *url.URL) string {
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
			return "the database behind the host must be a number from 0 up"
		}
	}
	return ""
}

// shown is the address without user, password and options.
func (a *Address) shown(scheme string) string {
	db := strconv.Itoa(a.options.DB)
	switch {
	case a.kind == ofCluster:
		return scheme + "+cluster://" + strings.Join(a.hosts, ",")
	case a.kind == ofSentinel:
		return scheme + "+sentinel://" + url.PathEscape(a.primary) + "@" + strings.Join(a.hosts, ",") + "/" + db
	case scheme == "unix" && a.options.DB != 0:
		return (&url.URL{Scheme: scheme, Path: a.options.Addr, RawQuery: "db=" + db}).String()
	case scheme == "unix":
		return (&url.URL{Scheme: scheme, Path: a.options.Addr}).String()
	}
	return (&url.URL{Scheme: scheme, Host: a.options.Addr, Path: "/" + db}).String()
}

// String is the address without user, password and options.
func (a *Address) String() string { return a.text }
