package contract

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
)

// Start is the time at which each sequence begins. It is not a whole millisecond, like the time of a real call.
var Start = time.Date(2026, 1, 2, 3, 4, 5, 678_901_000, time.UTC)

// content is what a key holds.
type content struct {
	kind     string
	text     string            // a string; a list's elements, joined
	elements map[string]string // members, fields with values, members with scores, entries by ID; nil for a string
	expires  int64             // milliseconds since 1970; 0: never
}

func (c content) same(o content) bool {
	return c.kind == o.kind && c.text == o.text && maps.Equal(c.elements, o.elements)
}

// lessThan reports whether a key holds what it did before with elements removed.
func (c content) lessThan(before content) bool {
	if c.kind != before.kind || c.elements == nil {
		return false
	}
	if c.kind == "list" && len(c.text) >= len(before.text) {
		return c.text == before.text
	}
	for k, v := range c.elements {
		if w, ok := before.elements[k]; !ok || w != v {
			return false
		}
	}
	return true
}

// each visits the elements of a key with their texts: members, values, scores; a string is the element "".
func (c content) each(visit func(element, text string)) {
	switch {
	case c.elements == nil:
		visit("", c.text)
	default:
		for e, v := range c.elements {
			visit(e, e+" "+v)
		}
	}
}

// size is how many elements a key has; a string has one in 8 bytes.
func (c content) size() int {
	if c.elements == nil {
		return len(c.text) / 8
	}
	return len(c.elements)
}

// repeated gives the elements of a key again and again, under other names where each can be there once.
func (c content) repeated() func(i int) (name, value string) {
	names := slices.Sorted(maps.Keys(c.elements))
	return func(i int) (name, value string) {
		at, turn := i%c.size(), i/c.size()
		if c.elements == nil {
			return c.text[8*at : 8*at+8], ""
		}
		name, value = names[at], c.elements[names[at]]
		if turn > 0 && c.kind != "list" {
			name += "~" + strconv.Itoa(turn)
		}
		return name, value
	}
}

// A Redis runs commands: an embedded server, or a client of a real one.
type Redis interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// A server is one with the time that it should have.
type server struct {
	Redis
	clock *embedded.ManualClock // nil: a real server's
	now   int64                 // microseconds
	held  map[string]content
}

func newServer(on Redis, clock *embedded.ManualClock) *server {
	return &server{Redis: on, clock: clock, now: Start.UnixMicro(), held: map[string]content{}}
}

// do runs a command. A reply is an int64, a string, nil, a slice of these, or an error.
func (s *server) do(words ...string) any {
	args := make([]any, len(words))
	for i, w := range words {
		args[i] = w
	}
	cmd := redis.NewCmd(context.Background(), args...)
	if err := s.Process(context.Background(), cmd); err != nil {
		if err == redis.Nil {
			return nil
		}
		return err
	}
	return cmd.Val()
}

// reset forgets all keys and sets the clock back.
func (s *server) reset() {
	s.do("FLUSHDB")
	clear(s.held)
	s.advance(Start.UnixMicro() - s.now)
}

// advance moves the clock, and forgets the keys that expire.
func (s *server) advance(us int64) {
	if us == 0 {
		return
	}
	s.now += us
	s.clock.Set(time.UnixMicro(s.now))
	if us < 0 { // a key that had expired may be there again
		s.look(s.keys())
		return
	}
	for key, c := range s.held {
		if c.expires > 0 && c.expires < s.now/1000 {
			delete(s.held, key)
		}
	}
}

// keys are those that there are.
func (s *server) keys() map[string]bool {
	all, _ := s.do("KEYS", "*").([]any)
	keys := make(map[string]bool, len(all))
	for _, key := range all {
		keys[key.(string)] = true
	}
	return keys
}

// look reads some keys anew, and returns what they held before.
func (s *server) look(keys map[string]bool) (before map[string]content) {
	before = make(map[string]content, len(keys))
	for key := range keys {
		if c, ok := s.held[key]; ok {
			before[key] = c
		}
		delete(s.held, key)
		if c, ok := s.content(key); ok {
			s.held[key] = c
		}
	}
	return before
}

func (s *server) content(key string) (c content, ok bool) {
	c.kind, _ = s.do("TYPE", key).(string)
	if c.kind == "none" {
		return c, false
	}
	if at, _ := s.do("PEXPIRETIME", key).(int64); at > 0 {
		c.expires = at
	}
	list := func(words ...string) []any {
		all, _ := s.do(words...).([]any)
		c.elements = make(map[string]string, len(all))
		return all
	}
	switch c.kind {
	case "string":
		c.text, _ = s.do("GET", key).(string)
	case "list":
		var b strings.Builder
		for _, e := range list("LRANGE", key, "0", "-1") {
			b.WriteString(strconv.Quote(e.(string)))
			c.elements[e.(string)] = ""
		}
		c.text = b.String()
	case "set":
		for _, e := range list("SMEMBERS", key) {
			c.elements[e.(string)] = ""
		}
	case "hash":
		c.pairs(list("HGETALL", key))
	case "zset":
		c.pairs(list("ZRANGE", key, "0", "-1", "WITHSCORES"))
	case "stream":
		for _, e := range list("XRANGE", key, "-", "+") {
			entry := e.([]any)
			c.elements[entry[0].(string)] = fmt.Sprint(entry[1])
		}
	}
	return c, true
}

func (c *content) pairs(all []any) {
	for i := 0; i+1 < len(all); i += 2 {
		c.elements[all[i].(string)] = all[i+1].(string)
	}
}
