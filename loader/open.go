package loader

import (
	"github.com/redis/go-redis/v9"
)

// Open returns the target of a URL as [ParseURL] reads it. Nothing is connected yet; the caller closes the target.
func Open(url string) (*Target, error) {
	a, err := ParseURL(url)
	if err != nil {
		return nil, err
	}
	return a.Open(), nil
}

// Open returns the target of the address. Nothing is connected yet; the caller closes the target.
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

// NewClient returns a client of the address for calls: a *redis.Client, one of NewFailoverClient, or a *redis.ClusterClient. It does not
// repeat commands by itself. The caller closes it.
func (a *Address) NewClient() redis.UniversalClient {
	o := *a.options
	switch a.kind {
	case ofCluster:
		return redis.NewClusterClient(&redis.ClusterOptions{
			Addrs: a.hosts, ClientName: o.ClientName, Protocol: o.Protocol, Username: o.Username, Password: o.Password,
			MaxRetries: -1, MinRetryBackoff: o.MinRetryBackoff, MaxRetryBackoff: o.MaxRetryBackoff,
			DialTimeout: o.DialTimeout, DialerRetries: o.DialerRetries, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
			ContextTimeoutEnabled: true, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, TLSConfig: o.TLSConfig,
		})
	case ofSentinel:
		return redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: a.primary, SentinelAddrs: a.hosts, SentinelUsername: a.sentinelUser, SentinelPassword: a.sentinelPassword,
			ClientName: o.ClientName, Protocol: o.Protocol, Username: o.Username, Password: o.Password, DB: o.DB,
			MaxRetries: o.MaxRetries, MinRetryBackoff: o.MinRetryBackoff, MaxRetryBackoff: o.MaxRetryBackoff,
			DialTimeout: o.DialTimeout, DialerRetries: o.DialerRetries, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
			ContextTimeoutEnabled: true, PoolSize: o.PoolSize, PoolTimeout: o.PoolTimeout, TLSConfig: o.TLSConfig,
		})
	}
	return redis.NewClient(&o)
}
