package command

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/glob"
	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// Version is the release of Redis that INFO and HELLO claim: the one whose functions behave most like the ones here.
const Version = luahost.Version

var serverCommands = []Command{
	{Name: "time", Arity: 1, Flags: Fast, Run: timeNow},
	{Name: "info", Arity: -1, Run: info},
	{Name: "role", Arity: 1, Flags: NoScript | Fast, Run: role},
	{Name: "wait", Arity: 3, Flags: NoScript, Run: wait},
	{Name: "readonly", Arity: 1, Flags: Fast, Run: noCluster},
	{Name: "readwrite", Arity: 1, Flags: Fast, Run: noCluster},
	{Name: "asking", Arity: 1, Flags: Fast, Run: noCluster},
	{Name: "cluster", Arity: -2, Run: noCluster},
	{Name: "acl", Arity: -2, Flags: NoScript},
	{Name: "acl|whoami", Arity: 2, Flags: NoScript, Run: func(*Call) reply.Value { return bulk("default") }},
	{Name: "config", Arity: -2, Flags: NoScript | Admin},
	{Name: "config|get", Arity: -3, Flags: NoScript | Admin, Run: configGet},
	{Name: "config|set", Arity: -4, Flags: NoScript | Admin, Run: configSet},
	{Name: "config|resetstat", Arity: 2, Flags: NoScript | Admin, Run: configResetStat},
	{Name: "command", Arity: -1, Run: commandAll},
	{Name: "command|count", Arity: 2, Run: func(*Call) reply.Value { return number(len(commands) / 2) }},
	{Name: "command|docs", Arity: -2, Run: func(*Call) reply.Value { return none }},
	{Name: "command|list", Arity: -2, Run: commandList},
	{Name: "command|info", Arity: -2, Run: commandInfo},
	{Name: "command|getkeys", Arity: -4, Run: commandGetKeys},
}

func timeNow(c *Call) reply.Value {
	seconds := c.Micros / 1_000_000
	return array([]reply.Value{bulk(itoa(seconds)), bulk(itoa(c.Micros - seconds*1_000_000))})
}

func role(*Call) reply.Value {
	return array([]reply.Value{bulk("master"), zero, none})
}

// wait answers at once: there are no replicas.
func wait(c *Call) reply.Value {
	if _, valid := parseInt(c.Args[1]); !valid {
		return errNotInt
	}
	if n, valid := parseInt(c.Args[2]); !valid {
		return failure("ERR timeout is not an integer or out of range")
	} else if n < 0 {
		return failure("ERR timeout is negative")
	}
	return zero
}

func noCluster(*Call) reply.Value {
	return failure("ERR This instance has cluster support disabled")
}

// evictLRU is the maxmemory-policy that removes the keys that were used least recently. Redis estimates which; here it is exact.
const evictLRU = "allkeys-lru"

func defaultConfig() map[string]string {
	return map[string]string{
		"maxmemory": "0", "maxmemory-policy": "noeviction", "databases": "16", "save": "", "appendonly": "no",
		"timeout": "0", "lua-time-limit": "5000", "busy-reply-threshold": "5000", "proto-max-bulk-len": "536870912",
	}
}

func configGet(c *Call) reply.Value {
	var names []string
	for name := range c.State.config {
		if slices.ContainsFunc(c.Args[2:], func(pattern string) bool { return glob.Match(lower(pattern), name) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var values []reply.Value
	for _, name := range names {
		values = append(values, bulk(name), bulk(c.State.config[name]))
	}
	return array(values)
}

// configSet stores any setting that CONFIG GET knows. Only maxmemory and maxmemory-policy allkeys-lru have an effect.
func configSet(c *Call) reply.Value {
	pairs := c.Args[2:]
	if len(pairs)%2 != 0 {
		return wrongArity("config|set")
	}
	limit := c.State.maxMemory
	for i := 0; i < len(pairs); i += 2 {
		name := lower(pairs[i])
		if _, known := c.State.config[name]; !known {
			return failure("ERR Unknown option or number of arguments for CONFIG SET - '" + pairs[i] + "'")
		}
		if name == "maxmemory" {
			n, valid := parseMemory(pairs[i+1])
			if !valid {
				return failure("ERR CONFIG SET failed (possibly related to argument 'maxmemory') - argument must be a memory value")
			}
			limit = n
		}
		if n, valid := parseInt(pairs[i+1]); (name == "lua-time-limit" || name == "busy-reply-threshold") && (!valid || n < 0 || n > math.MaxInt32) {
			return failure("ERR CONFIG SET failed (possibly related to argument '" + name + "') - argument must be between 0 and 2147483647 inclusive")
		}
	}
	for i := 0; i < len(pairs); i += 2 {
		name := lower(pairs[i])
		c.State.config[name] = pairs[i+1]
		if name == "lua-time-limit" || name == "busy-reply-threshold" { // two names of one setting
			n, _ := parseInt(pairs[i+1])
			c.State.busyAfter = time.Duration(n) * time.Millisecond
			c.State.config["lua-time-limit"], c.State.config["busy-reply-threshold"] = pairs[i+1], pairs[i+1]
		}
	}
	c.State.maxMemory, c.State.evicts = limit, c.State.config["maxmemory-policy"] == evictLRU
	c.State.config["maxmemory"] = itoa(limit)
	return okay
}

// parseMemory reads bytes, with one of Redis's units behind the number.
func parseMemory(s string) (int64, bool) {
	s = lower(s)
	digits := strings.TrimRight(s, "bgkm")
	n, valid := parseInt(digits)
	unit, known := map[string]int64{
		"": 1, "b": 1, "k": 1000, "kb": 1 << 10, "m": 1_000_000, "mb": 1 << 20, "g": 1_000_000_000, "gb": 1 << 30,
	}[s[len(digits):]]
	return n * unit, valid && known && n >= 0
}

func configResetStat(c *Call) reply.Value {
	clear(c.State.calls)
	c.State.processed = 0
	return okay
}
