package doctor

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// facts are what a node says about itself beyond what loader asks. What the user may not ask for is absent, and no check speaks of it.
type facts struct {
	info   map[string]string // of INFO
	config map[string]string // of CONFIG GET
	// ahead is how far the node's clock is before this machine's; known tells whether it could be read, and doubt is how much
	// of it may be the way there and back.
	ahead, doubt time.Duration
	clockKnown   bool
	// running is the function that the node is running, or empty; since is for how long.
	running string
	since   time.Duration
	// open tells that a client needs no password to do everything.
	open bool
}

// settings are the parameters that checks look at.
var settings = []string{"busy-reply-threshold", "maxclients", "protected-mode", "stop-writes-on-bgsave-error"}

// gather asks a node. Each answer stands alone: a user who may not ask for one still has the others.
func gather(ctx context.Context, node fcall.Caller) facts {
	f := facts{info: map[string]string{}, config: map[string]string{}}
	do := func(args ...any) any {
		cmd := redis.NewCmd(ctx, args...)
		if node.Process(ctx, cmd) != nil {
			return nil
		}
		return cmd.Val()
	}
	if text, ok := do("INFO").(string); ok {
		for line := range strings.Lines(text) {
			if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
				f.info[name] = value
			}
		}
	}
	for _, name := range settings {
		if value, ok := resp.Map(do("CONFIG", "GET", name))[name].(string); ok {
			f.config[name] = value
		}
	}
	sent := time.Now()
	if parts, ok := do("TIME").([]any); ok && len(parts) == 2 {
		f.clockKnown = true
		f.doubt = time.Since(sent) / 2
		f.ahead = unix(parts).Sub(sent.Add(f.doubt))
	}
	if script := resp.Map(resp.Map(do("FUNCTION", "STATS"))["running_script"]); len(script) > 0 {
		f.running, _ = script["name"].(string)
		ms, _ := script["duration_ms"].(int64)
		f.since = time.Duration(ms) * time.Millisecond
	}
	f.open = isOpen(do("ACL", "GETUSER", "default"))
	return f
}

func unix(parts []any) time.Time {
	number := func(v any) int64 {
		text, _ := v.(string)
		n, _ := strconv.ParseInt(text, 10, 64) // TIME's reply is two numbers on every server
		return n
	}
	return time.Unix(number(parts[0]), number(parts[1])*1000)
}

// isOpen tells from ACL GETUSER whether everybody may be that user and do everything.
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
