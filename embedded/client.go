package embedded

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rlfunc/rlfunc/embedded/internal/memconn"
)

// Client returns a go-redis client of this server, over connections in memory. It speaks RESP3, as every client of go-redis by default: replies
// without a type of their own, as those of Do, are what production code gets. The caller closes it.
func (s *Server) Client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr: "embedded",
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			near, far := memconn.Pair()
			s.start(far)
			return near, nil
		},
		// Without an endpoint type go-redis looks up the address, which is no host.
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled, EndpointType: maintnotifications.EndpointTypeNone},
	})
}
