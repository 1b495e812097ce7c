package loader

import (
	"context"
	"slices"

	"github.com/redis/go-redis/v9"
)

// openRing is every shard of a ring, with its replicas. The ring itself leaves out shards that it holds for down.
func (s *session) openRing(ctx context.Context, o *redis.RingOptions, replicas bool) {
	s.connect = likeRing(o)
	var addrs []string
	for _, addr := range o.Addrs {
		addrs = append(addrs, addr)
	}
	slices.Sort(addrs)
	for _, addr := range slices.Compact(addrs) {
		s.add(Node{Addr: addr})
	}
	if replicas {
		s.addReplicas(ctx)
	}
}

// likeRing connects to a shard as the ring does.
func likeRing(like *redis.RingOptions) func(addr string) *redis.Client {
	return func(addr string) *redis.Client {
		return connectNode(&redis.Options{
			ClientName: like.ClientName, Dialer: like.Dialer, OnConnect: like.OnConnect, Protocol: like.Protocol,
			Username: like.Username, Password: like.Password, CredentialsProvider: like.CredentialsProvider,
			CredentialsProviderContext: like.CredentialsProviderContext, StreamingCredentialsProvider: like.StreamingCredentialsProvider,
			DialTimeout: like.DialTimeout, ReadTimeout: like.ReadTimeout, WriteTimeout: like.WriteTimeout, TLSConfig: like.TLSConfig,
		}, addr, like.NewClient)
	}
}
