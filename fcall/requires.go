package fcall

import (
	"context"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/requires"
)

// A tooOldError says that a server is not one that the library requires.
type tooOldError string

func (e tooOldError) Error() string { return string(e) }

// refuseOld returns an error if the server is not one that the library requires. It returns nil if the user may not run INFO,
// and for the embedded engine, which serves tests.
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
	server := requires.Server{}
	for line := range strings.Lines(text) {
		switch name, value, _ := strings.Cut(strings.TrimSpace(line), ":"); name {
		case "redis_version":
			server = requires.Server{Product: "redis", Version: value}
		case "valkey_version": // below the redis_version that Valkey has for old clients
			server = requires.Server{Product: "valkey", Version: value}
		case "rlfunc_embedded":
			return nil
		}
	}
	if required.Met(server.Product, server.Version) {
		return nil
	}
	return tooOldError(required.Refusal(lib.ServerName+" "+lib.Version, server.String()))
}
