package middleware_test

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
)

// charges holds the charges in Redis by limit and subject.
type charges map[string]int64

// A ledger reads charges. Redis has only tags, so the ledger records the subjects that guard used.
type ledger struct {
	rdb         *redis.Client
	tags        sync.Map // of subjects
	now, closed charges
}

func (l *ledger) observe(_ context.Context, e guard.Event) {
	if e, ok := e.(guard.Decided); ok {
		for _, s := range e.Request.Subjects {
			l.tags.Store(fcall.Tag(fcall.Subject(s)), s)
		}
	}
}

// A sliding log is a list of the times of requests; its key has the window and the name.
func (l *ledger) read(t *testing.T) charges {
	t.Helper()
	all := charges{}
	for _, key := range l.rdb.Keys(t.Context(), "*").Val() {
		tag, limit, ok := strings.Cut(key, "}:sliding_log:")
		if !ok {
			continue
		}
		n, err := l.rdb.LLen(t.Context(), key).Result()
		if err != nil {
			t.Fatal(err)
		}
		_, limit, _ = strings.Cut(limit, ":")
		subject, _ := l.tags.Load(strings.TrimPrefix(tag, "rl:{"))
		all[fmt.Sprint(strings.TrimSuffix(limit, "/hour"), " ", subject)] = n
	}
	return all
}

var hash = regexp.MustCompile(`~[0-9a-f]{32}`)

// sum lists what was charged since the ledger was closed, in a form to compare: `chat ip=203.0.113.7 x2`. Each hash is ~hash.
func (l *ledger) sum(t *testing.T) string {
	t.Helper()
	l.now = l.read(t)
	var all []string
	for _, name := range slices.Sorted(maps.Keys(l.now)) {
		text := hash.ReplaceAllString(name, "~hash")
		switch n := l.now[name] - l.closed[name]; n {
		case 0:
		case 1:
			all = append(all, text)
		default:
			all = append(all, fmt.Sprintf("%s x%d", text, n))
		}
	}
	return strings.Join(all, ", ")
}

// close starts the next sum.
func (l *ledger) close() { l.closed = l.now }

// checkKeys checks the bounds of keys after a table of attacks. A tag has at most 64 bytes; the policy determines the rest of a key.
func checkKeys(t *testing.T, rdb *redis.Client, most int) {
	t.Helper()
	keys := rdb.Keys(t.Context(), "*").Val()
	receipts := len(rdb.Keys(t.Context(), "*}:receipt:*").Val()) // one for each admitted request that has one
	if n := len(keys) - receipts; n <= 0 || n > most {
		t.Errorf("%d keys besides receipts, want 1 to %d", n, most)
	}
	for _, key := range keys {
		if len(key) > 120 || strings.ContainsAny(key, "\x00\r\n") {
			t.Errorf("a key of %d bytes: %.100q", len(key), key)
		}
		if ttl := rdb.PTTL(t.Context(), key).Val(); ttl <= 0 {
			t.Errorf("%s expires in %v", key, ttl)
		}
		for _, text := range content(t, rdb, key) {
			if len(text) > 128 {
				t.Errorf("%s holds a text of %d bytes: %.60q", key, len(text), text)
			}
		}
	}
}

// content returns the content of a key.
func content(t *testing.T, rdb *redis.Client, key string) (all []string) {
	t.Helper()
	var err error
	switch kind := rdb.Type(t.Context(), key).Val(); kind {
	case "string": // a receipt
		all = append(all, rdb.Get(t.Context(), key).Val())
	case "list":
		all, err = rdb.LRange(t.Context(), key, 0, -1).Result()
	case "zset":
		all, err = rdb.ZRange(t.Context(), key, 0, -1).Result()
	default:
		err = fmt.Errorf("%s is a %s", key, kind)
	}
	if err != nil || len(all) == 0 {
		t.Errorf("%s: %v, %v", key, all, err)
	}
	return all
}
