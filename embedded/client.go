package embedded

import (
	"context"
	"net"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rlfunc/rlfunc/embedded/internal/memconn"
)

// Client returns a go-redis client of this server, over connections in memory. The caller closes it.
func (s *Server) Client() *redis.Client {
	return redis.NewClient(&redis.Options{
		Addr:     "embedded",
		Protocol: 2,
		Dialer: func(context.Context, string, string) (net.Conn, error) {
			near, far := memconn.Pair()
			s.start(far)
			return near, nil
		},
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	})
}
