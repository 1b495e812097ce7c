package conn

import (
	"context"
	"errors"
	"io"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rlfunc/rlfunc/fcall"
)

// A Dialer opens a client of the server at an address, in database 0.
type Dialer func(addr string) *redis.Client

// LikeClient opens clients with the options of a client of one server.
func LikeClient(like *redis.Options) Dialer {
	return func(addr string) *redis.Client {
		o := *like
		o.Network, o.DB = "tcp", 0
		return Open(&o, addr, redis.NewClient)
	}
}

// LikeCluster opens clients of nodes with the options of a cluster's client.
func LikeCluster(like *redis.ClusterOptions) Dialer {
	return func(addr string) *redis.Client {
		return Open(&redis.Options{
			ClientName: like.ClientName, Dialer: like.Dialer, OnConnect: like.OnConnect, Protocol: like.Protocol,
			Username: like.Username, Password: like.Password, CredentialsProvider: like.CredentialsProvider,
			CredentialsProviderContext: like.CredentialsProviderContext, StreamingCredentialsProvider: like.StreamingCredentialsProvider,
			DialTimeout: like.DialTimeout, ReadTimeout: like.ReadTimeout, WriteTimeout: like.WriteTimeout, TLSConfig: like.TLSConfig,
		}, addr, like.NewClient)
	}
}

// LikeRing opens clients of shards with the options of a ring.
func LikeRing(like *redis.RingOptions) Dialer {
	return LikeCluster(&redis.ClusterOptions{
		ClientName: like.ClientName, Dialer: like.Dialer, OnConnect: like.OnConnect, Protocol: like.Protocol,
		Username: like.Username, Password: like.Password, CredentialsProvider: like.CredentialsProvider,
		CredentialsProviderContext: like.CredentialsProviderContext, StreamingCredentialsProvider: like.StreamingCredentialsProvider,
		DialTimeout: like.DialTimeout, ReadTimeout: like.ReadTimeout, WriteTimeout: like.WriteTimeout, TLSConfig: like.TLSConfig,
		NewClient: like.NewClient,
	})
}

// Open opens a short-lived client of one server. It does not retry commands, and its commands end with their context.
func Open(o *redis.Options, addr string, open func(*redis.Options) *redis.Client) *redis.Client {
	o.Addr = addr
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.MinIdleConns = 0
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if onConnect := o.OnConnect; onConnect != nil {
		o.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
			if err := onConnect(ctx, conn); err != nil {
				return err
			}
			// The hook may have selected another database. A user without permission for SELECT is in database 0 anyway.
			var refusal redis.Error
			if err := conn.Select(ctx, 0).Err(); !errors.As(err, &refusal) {
				return err
			}
			return nil
		}
	}
	return open(o)
}

// InDatabase0 returns a client like c whose connections use database 0, and its closer. It returns c and nil if c uses
// database 0 or has no databases.
func InDatabase0(c fcall.Caller) (fcall.Caller, io.Closer) {
	switch c := c.(type) {
	case *redis.Client:
		if c.Options().DB != 0 || c.Options().OnConnect != nil {
			o := *c.Options()
			o.DB = 0
			zero := Open(&o, o.Addr, redis.NewClient)
			return zero, zero
		}
	case *redis.Ring:
		if c.Options().DB != 0 {
			o := *c.Options()
			o.DB = 0
			zero := redis.NewRing(&o)
			return zero, zero
		}
	}
	return c, nil
}
