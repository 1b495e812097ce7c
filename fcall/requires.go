package fcall

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/requires"
	"github.com/rlfunc/rlfunc/internal/serverinfo"
)

// A tooOldError says that a server is not one that the library requires.
type tooOldError string

func (e tooOldError) Error() string { return string(e) }

// refuseOld returns an error if the server is not one that the library requires. It returns nil if the user may not run INFO.
func refuseOld(ctx context.Context, at route, lib *Library) error {
	var required requires.Servers
	for field := range metadata(lib.Code) {
		if value, ok := strings.CutPrefix(field, "requires="); ok {
			required = requires.Parse(value)
		}
	}
	if len(required) == 0 {
		return nil
	}
	cmd := redis.NewCmd(ctx, "INFO", "server")
	if at.run(ctx, cmd) != nil {
		return nil
	}
	text, _ := cmd.Val().(string)
	if why := required.Refusal(lib.ServerName+" "+lib.Version, serverinfo.Identify(text)); why != "" {
		return tooOldError(why)
	}
	return nil
}
