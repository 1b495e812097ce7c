package embedded

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// serverError is an error reply. It implements redis.Error, as go-redis's own type does.
type serverError string

var _ redis.Error = serverError("")

func (e serverError) Error() string { return string(e) }

// RedisError marks the type as a reply of the server.
func (serverError) RedisError() {}

func unexpected(cmd redis.Cmder, v reply.Value) error {
	return fmt.Errorf("decode reply of %s: kind %d does not fit %T", cmd.Name(), v.Kind, cmd)
}
