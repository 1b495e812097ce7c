package doctor

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/serverinfo"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// facts describe a node beyond what loader reads. Facts that the user may not read are missing, and checks skip them.
type facts struct {
	info   map[string]string // of INFO
	config map[string]string // of CONFIG GET
	// ahead is the node's clock less this machine's. clockKnown reports whether it could be read. uncertainty is half of the
	// round trip.
	ahead, uncertainty time.Duration
	clockKnown         bool
	// running is the function that the node is running, or "", and since is for how long.
	running string
	since   time.Duration
	// open reports whether a client without a password may run all commands.
	open bool
}

// settings are the parameters that checks need.
var settings = []string{"busy-reply-threshold", "maxclients", "protected-mode", "stop-writes-on-bgsave-error"}

// gather reads the facts of a node. A user without permission for one of them still gets the others. It asks no more of a node
// that has not answered.
func gather(ctx context.Context, node fcall.Caller) facts {
	f := facts{info: map[string]string{}, config: map[string]string{}}
	silent := false
	do := func(args ...any) any {
		cmd := redis.NewCmd(ctx, args...)
		if silent || node.Process(ctx, cmd) != nil {
			var reply redis.Error
			silent = silent || !errors.As(cmd.Err(), &reply)
			return nil
		}
		return cmd.Val()
	}
	if text, ok := do("INFO").(string); ok {
		f.info = serverinfo.Fields(text)
	}
	for _, name := range settings {
		if value, ok := resp.Map(do("CONFIG", "GET", name))[name].(string); ok {
			f.config[name] = value
		}
	}
	sent := time.Now()
	if at, err := resp.Time(do("TIME")); err == nil {
		f.clockKnown = true
		f.uncertainty = time.Since(sent) / 2
		f.ahead = at.Sub(sent.Add(f.uncertainty))
	}
	if script := resp.Map(resp.Map(do("FUNCTION", "STATS"))["running_script"]); len(script) > 0 {
		f.running, _ = script["name"].(string)
		ms, _ := script["duration_ms"].(int64)
		f.since = time.Duration(ms) * time.Millisecond
	}
	f.open = isOpen(do("ACL", "GETUSER", "default"))
	return f
}

// isOpen reads from ACL GETUSER whether a client without a password may run all commands.
func isOpen(reply any) bool {
	user := resp.Map(reply)
	commands, _ := user["commands"].(string)
	flags, _ := user["flags"].([]any)
	on, noPassword := false, false
	for _, flag := range flags {
		on = on || flag == "on"
		noPassword = noPassword || flag == "nopass"
	}
	return on && noPassword && strings.HasPrefix(commands, "+@all")
}
