package command

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

// A setting is one that CONFIG GET and CONFIG SET know.
type setting struct {
	value string                                    // of delivery
	check func(text string) (value, problem string) // value is what CONFIG GET shows
	apply func(s *State, value string)              // nil if it has no effect
}

// evictLRU is the maxmemory-policy that removes the keys that were used least recently. Redis estimates which; here it is exact.
const evictLRU = "allkeys-lru"

// maxUnread is how many bytes of replies a client may leave unread. Redis has no limit for normal clients by default.
const maxUnread = 256 << 20

// maxStreamNode bounds a node of a stream: removing one of its entries moves the others.
const maxStreamNode = 10_000

var settings = map[string]setting{
	"maxmemory":        {"0", memorySize(0), func(s *State, v string) { s.maxMemory = mustInt(v) }},
	"maxmemory-policy": {"noeviction", oneOf("volatile-lru", "volatile-lfu", "volatile-random", "volatile-ttl", evictLRU, "allkeys-lfu", "allkeys-random", "noeviction"), func(s *State, v string) { s.evicts = v == evictLRU }},
	"busy-reply-threshold": {"5000", wholeNumber(0, math.MaxInt32), func(s *State, v string) {
		s.busyAfter = time.Duration(mustInt(v)) * time.Millisecond
	}},
	"stream-node-max-entries": {"100", wholeNumber(0, math.MaxInt64), func(s *State, v string) {
		if s.streamNode = int(min(mustInt(v), maxStreamNode)); s.streamNode == 0 {
			s.streamNode = maxStreamNode
		}
	}},
	"maxclients":                 {"10000", wholeNumber(1, math.MaxUint32), func(s *State, v string) { s.MaxClients.Store(mustInt(v)) }},
	"proto-max-bulk-len":         {"536870912", memorySize(1 << 20), func(s *State, v string) { s.Limits.Argument.Store(mustInt(v)) }},
	"client-query-buffer-limit":  {"1073741824", memorySize(1 << 20), func(s *State, v string) { s.Limits.Query.Store(mustInt(v)) }},
	"client-output-buffer-limit": {fmt.Sprintf("normal %d 0 0", maxUnread), outputLimit, func(s *State, v string) { s.Limits.Output.Store(mustInt(strings.Fields(v)[1])) }},

	// What a deploy asks for, without effect here.
	"databases":  {"16", fixed, nil},
	"save":       {"", anyText, nil},
	"appendonly": {"no", oneOf("yes", "no"), nil},
	// Redis's tests set them. Collections have one form here.
	"hash-max-listpack-entries": {"512", anyText, nil},
	"hash-max-listpack-value":   {"64", anyText, nil},
	"set-max-intset-entries":    {"512", anyText, nil},
	"zset-max-listpack-entries": {"128", anyText, nil},
	"zset-max-listpack-value":   {"64", anyText, nil},
	"list-max-listpack-size":    {"-2", anyText, nil},
	"list-compress-depth":       {"0", anyText, nil},
}

// settingName is the first name of a setting, which may have a second one.
func settingName(name string) string {
	if name = lower(name); name == "lua-time-limit" {
		return "busy-reply-threshold"
	}
	return strings.Replace(name, "-ziplist-", "-listpack-", 1)
}

// configure gives the settings their values of delivery.
func (s *State) configure() {
	s.config = make(map[string]string, len(settings))
	for name, def := range settings {
		s.set(name, def.value)
	}
}

func (s *State) set(name, value string) {
	s.config[name] = value
	if apply := settings[name].apply; apply != nil {
		apply(s, value)
	}
}

// mustInt reads what a check has let through.
func mustInt(s string) int64 {
	n, _ := parseInt(s)
	return n
}

func anyText(text string) (value, problem string) { return text, "" }

func fixed(string) (value, problem string) { return "", "can't set immutable config" }

func wholeNumber(low, high int64) func(string) (string, string) {
	return func(text string) (value, problem string) {
		n, valid := parseInt(text)
		switch {
		case !valid:
			return "", "argument couldn't be parsed into an integer"
		case n < low || n > high:
			return "", fmt.Sprintf("argument must be between %d and %d inclusive", low, high)
		}
		return text, ""
	}
}

func memorySize(low int64) func(string) (string, string) {
	inRange := wholeNumber(low, math.MaxInt64)
	return func(text string) (value, problem string) {
		n, valid := parseMemory(text)
		if !valid {
			return "", "argument must be a memory value"
		}
		return inRange(itoa(n))
	}
}

func oneOf(words ...string) func(string) (string, string) {
	return func(text string) (value, problem string) {
		switch value = lower(text); {
		case slices.Contains(words, value):
			return value, ""
		case len(words) == 2:
			return "", "argument must be 'yes' or 'no'"
		}
		return "", "argument(s) must be one of the following: " + strings.Join(words, ", ")
	}
}

// outputLimit reads the hard limit of normal clients: there are no others, and no soft limit.
func outputLimit(text string) (value, problem string) {
	words := strings.Fields(text)
	if len(words) != 4 || lower(words[0]) != "normal" {
		return "", "the embedded engine has clients of the class normal only"
	}
	n, valid := parseMemory(words[1])
	if !valid {
		return "", "Error in hard, soft or soft_seconds setting in buffer limit configuration."
	}
	return fmt.Sprintf("normal %d 0 0", n), ""
}

func configGet(c *Call) resp.Value {
	var values []resp.Value
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		if slices.ContainsFunc(c.Args[2:], func(pattern string) bool { return matches(settingName(pattern), name) }) {
			values = append(values, bulk(name), bulk(c.State.config[name]))
		}
	}
	return dictionary(values...)
}

// configSet changes all settings that it names, or none.
func configSet(c *Call) resp.Value {
	pairs := c.Args[2:]
	if len(pairs)%2 != 0 {
		return wrongArity("config|set")
	}
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		name := settingName(pairs[i])
		def, known := settings[name]
		if !known {
			return failure("ERR Unknown option or number of arguments for CONFIG SET - '" + cText(pairs[i]) + "'")
		}
		value, problem := def.check(pairs[i+1])
		if _, twice := values[name]; twice {
			problem = "duplicate parameter"
		}
		if problem != "" {
			return failure("ERR CONFIG SET failed (possibly related to argument '" + cText(pairs[i]) + "') - " + problem)
		}
		values[name] = value
	}
	for name, value := range values {
		c.State.set(name, value)
	}
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
	return n * unit, valid && known && n >= 0 && n <= math.MaxInt64/max(unit, 1)
}

func configResetStat(c *Call) resp.Value {
	clear(c.State.used)
	c.State.processed = 0
	for _, n := range []*atomic.Int64{&c.State.Rejected, &c.State.Limits.QueryClosed, &c.State.Limits.OutputClosed} {
		n.Store(0)
	}
	return okay
}
