package loader

import (
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/loader/internal/redisurl"
)

// An Address is a parsed URL of one server, a cluster or a primary behind Sentinel.
type Address struct{ url *redisurl.Address }

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
	url, why := redisurl.Parse(text)
	if why != "" {
		return nil, &Error{Op: "parse the redis url", Reason: ErrURL, Text: why}
	}
	return &Address{url}, nil
}

// String returns the address without user, password and options.
func (a *Address) String() string { return a.url.String() }

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
	o := *a.url.Options
	several := redis.UniversalOptions{
		Addrs: a.url.Hosts, MasterName: a.url.Primary, SentinelUsername: a.url.SentinelUser, SentinelPassword: a.url.SentinelPassword,
		ClientName: o.ClientName, Protocol: o.Protocol, Username: o.Username, Password: o.Password, DB: o.DB, TLSConfig: o.TLSConfig,
		MaxRetries: o.MaxRetries, MinRetryBackoff: o.MinRetryBackoff, MaxRetryBackoff: o.MaxRetryBackoff,
		DialTimeout: o.DialTimeout, DialerRetries: o.DialerRetries, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		ContextTimeoutEnabled: true, PoolFIFO: o.PoolFIFO, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, MaxConcurrentDials: o.MaxConcurrentDials,
		MinIdleConns: o.MinIdleConns, MaxIdleConns: o.MaxIdleConns, MaxActiveConns: o.MaxActiveConns,
		ConnMaxIdleTime: o.ConnMaxIdleTime, ConnMaxLifetime: o.ConnMaxLifetime, ConnMaxLifetimeJitter: o.ConnMaxLifetimeJitter,
	}
	switch a.url.Kind {
	case redisurl.Cluster:
		return redis.NewClusterClient(several.Cluster())
	case redisurl.Sentinel:
		return redis.NewFailoverClient(several.Failover())
	}
	return redis.NewClient(&o)
}
