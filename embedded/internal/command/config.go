package command

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/embedded/internal/reply"
)

// A setting is one that CONFIG GET and CONFIG SET know.
type setting struct {
	value string                                         // of delivery
	check func(old, text string) (value, problem string) // value is what CONFIG GET shows
	apply func(s *State, value string)                   // nil if it has no effect
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
	"databases":        {"16", fixed, nil},
	"save":             {"", anyText, nil},
	"appendonly":       {"no", oneOf("yes", "no"), nil},
	"busy-reply-threshold": {"5000", wholeNumber(0, math.MaxInt32), func(s *State, v string) {
		s.busyAfter = time.Duration(mustInt(v)) * time.Millisecond
	}},

	"stream-node-max-entries": {"100", wholeNumber(0, math.MaxInt64), func(s *State, v string) {
		if s.streamNode = int(min(mustInt(v), maxStreamNode)); s.streamNode == 0 {
			s.streamNode = maxStreamNode
		}
	}},
	"maxclients":                 {"10000", wholeNumber(1, math.MaxUint32), limit(func(s *State) *atomic.Int64 { return &s.MaxClients })},
	"proto-max-bulk-len":         {"536870912", memorySize(1 << 20), limit(func(s *State) *atomic.Int64 { return &s.Limits.Argument })},
	"client-query-buffer-limit":  {"1073741824", memorySize(1 << 20), limit(func(s *State) *atomic.Int64 { return &s.Limits.Query })},
	"client-output-buffer-limit": {fmt.Sprintf("normal %d 0 0 slave 268435456 67108864 60 pubsub 33554432 8388608 60", maxUnread), mergeOutputLimit, applyOutputLimit},

	// They have no effect: collections have one form here.
	"hash-max-listpack-entries": {"512", wholeNumber(0, math.MaxInt64), nil},
	"hash-max-listpack-value":   {"64", memorySize(0), nil},
	"set-max-intset-entries":    {"512", wholeNumber(0, math.MaxInt64), nil},
	"zset-max-listpack-entries": {"128", wholeNumber(0, math.MaxInt64), nil},
	"zset-max-listpack-value":   {"64", memorySize(0), nil},

	"list-max-listpack-size": {"-2", wholeNumber(math.MinInt32, math.MaxInt32), nil},
	"list-compress-depth":    {"0", wholeNumber(0, math.MaxInt32), nil},
}

// aliases are second names of settings.
var aliases = map[string]string{
	"lua-time-limit":           "busy-reply-threshold",
	"hash-max-ziplist-entries": "hash-max-listpack-entries",
	"hash-max-ziplist-value":   "hash-max-listpack-value",
	"list-max-ziplist-size":    "list-max-listpack-size",
	"zset-max-ziplist-entries": "zset-max-listpack-entries",
	"zset-max-ziplist-value":   "zset-max-listpack-value",
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

func limit(of func(*State) *atomic.Int64) func(*State, string) {
	return func(s *State, value string) { of(s).Store(mustInt(value)) }
}

// mustInt reads what a check has let through.
func mustInt(s string) int64 {
	n, _ := parseInt(s)
	return n
}

func anyText(_, text string) (value, problem string) { return text, "" }

func fixed(string, string) (value, problem string) { return "", "can't set immutable config" }

func wholeNumber(low, high int64) func(string, string) (string, string) {
	return func(_, text string) (value, problem string) {
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

func memorySize(low int64) func(string, string) (string, string) {
	return func(_, text string) (value, problem string) {
		n, valid := parseMemory(text)
		switch {
		case !valid:
			return "", "argument must be a memory value"
		case n < low:
			return "", fmt.Sprintf("argument must be between %d and %d inclusive", low, int64(math.MaxInt64))
		}
		return itoa(n), ""
	}
}

func oneOf(words ...string) func(string, string) (string, string) {
	return func(_, text string) (value, problem string) {
		switch value = lower(text); {
		case slices.Contains(words, value):
			return value, ""
		case len(words) == 2:
			return "", "argument must be 'yes' or 'no'"
		}
		return "", "argument(s) must be one of the following: " + strings.Join(words, ", ")
	}
}

// mergeOutputLimit reads client-output-buffer-limit, classes of clients with three numbers each, into what is set already.
func mergeOutputLimit(old, text string) (value, problem string) {
	merged, words := strings.Fields(old), strings.Fields(text)
	if len(words)%4 != 0 {
		return "", "Wrong number of arguments in buffer limit configuration."
	}
	for ; len(words) > 0; words = words[4:] {
		class := lower(words[0])
		if class == "replica" {
			class = "slave"
		}
		at := slices.Index(merged, class)
		if at < 0 {
			return "", "Invalid client class specified in buffer limit configuration."
		}
		for i := 1; i <= 3; i++ {
			n, valid := parseMemory(words[i])
			if !valid {
				return "", "Error in hard, soft or soft_seconds setting in buffer limit configuration."
			}
			merged[at+i] = itoa(n)
		}
	}
	return strings.Join(merged, " "), ""
}

// applyOutputLimit has an effect for the hard limit of normal clients: there are no others, and no soft limit.
func applyOutputLimit(s *State, value string) {
	s.Limits.Output.Store(mustInt(strings.Fields(value)[1]))
}

func configGet(c *Call) reply.Value {
	found := map[string]string{}
	see := func(name, value string) {
		if slices.ContainsFunc(c.Args[2:], func(pattern string) bool { return matches(lower(pattern), name) }) {
			found[name] = value
		}
	}
	for name, value := range c.State.config {
		see(name, value)
	}
	for alias, name := range aliases {
		see(alias, c.State.config[name])
	}
	names := make([]string, 0, len(found))
	for name := range found {
		names = append(names, name)
	}
	slices.Sort(names)
	var values []reply.Value
	for _, name := range names {
		values = append(values, bulk(name), bulk(found[name]))
	}
	return maps(values...)
}

// configSet changes all settings that it names, or none.
func configSet(c *Call) reply.Value {
	pairs := c.Args[2:]
	if len(pairs)%2 != 0 {
		return wrongArity("config|set")
	}
	values := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		name := lower(pairs[i])
		if first, is := aliases[name]; is {
			name = first
		}
		def, known := settings[name]
		if !known {
			return failure("ERR Unknown option or number of arguments for CONFIG SET - '" + cText(pairs[i]) + "'")
		}
		value, problem := def.check(c.State.config[name], pairs[i+1])
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

func configResetStat(c *Call) reply.Value {
	clear(c.State.used)
	c.State.processed = 0
	for _, n := range []*atomic.Int64{&c.State.Rejected, &c.State.Limits.QueryClosed, &c.State.Limits.OutputClosed} {
		n.Store(0)
	}
	return okay
}
