package loader

import (
	"net/url"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// An Address is a parsed URL of servers.
type Address struct {
	text    string
	options *redis.Options
}

// ParseURL reads redis://[user[:password]@]host[:port][/db], rediss:// (TLS), and unix://[user[:password]@]/path[?db=n], with
// go-redis's options behind a question mark (?dial_timeout=2s&protocol=2). Errors are ErrURL or ErrUnsupported, and never show
// a password. Nothing is connected.
func ParseURL(text string) (*Address, error) {
	text = strings.TrimSpace(text)
	refuse := func(reason Reason, why string) (*Address, error) {
		return nil, &Error{Op: "read the redis url", Reason: reason, Text: why}
	}
	scheme, rest, ok := strings.Cut(text, "://")
	scheme = strings.ToLower(scheme)
	switch {
	case text == "":
		return refuse(ErrURL, "it is empty; redis://127.0.0.1:6379 is one")
	case !ok:
		return refuse(ErrURL, "it must begin with redis://, rediss:// or unix://; redis://127.0.0.1:6379 is one")
	case scheme == "redis+sentinel" || scheme == "redis+cluster":
		return refuse(ErrUnsupported, scheme+":// can not be deployed to yet; give one primary as redis://host:port")
	case scheme != "redis" && scheme != "rediss" && scheme != "unix":
		return refuse(ErrURL, "scheme "+strconv.Quote(scheme)+" is not one of redis, rediss, unix")
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		// The cause quotes parts of the URL, and a part of the password may be among them.
		if strings.Contains(rest, "@") {
			return refuse(ErrURL, "the part behind :// is not user:password@host:port; in a user or password write / as %2F, @ as %40, # as %23, ? as %3F and % as %25")
		}
		return refuse(ErrURL, "the part behind :// is not host:port/db; an IPv6 address goes in brackets, and a port is a number")
	}
	if why := wrongParts(u); why != "" {
		return refuse(ErrURL, why)
	}
	o, err := redis.ParseURL(u.String())
	if err != nil {
		return refuse(ErrURL, strings.TrimPrefix(oneLine(err.Error()), "redis: "))
	}
	if o.DB < 0 {
		return refuse(ErrURL, "the database must be a number from 0 up")
	}
	// A read that can not be answered is reported, not repeated: a person or a pipeline decides. An address that swallows
	// packets would otherwise cost 20 dial timeouts.
	query := u.Query()
	if !query.Has("max_retries") {
		o.MaxRetries = -1
	}
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	shown := url.URL{Scheme: u.Scheme, Host: o.Addr, Path: "/" + strconv.Itoa(o.DB)}
	if scheme == "unix" {
		shown.Host, shown.Path = "", o.Addr
		if o.DB != 0 {
			shown.RawQuery = "db=" + strconv.Itoa(o.DB)
		}
	}
	return &Address{text: shown.String(), options: o}, nil
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

// String is the address without user, password and options.
func (a *Address) String() string { return a.text }

// NewClient returns a client of the address; it does not repeat commands by itself. The caller closes it. It is for [NewTarget], and for calls.
func (a *Address) NewClient() redis.UniversalClient {
	o := *a.options
	return redis.NewClient(&o)
}
