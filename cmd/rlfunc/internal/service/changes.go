package service

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/connection"
)

// maxEntries is the approximate maximum of entries in the stream.
const maxEntries = 10_000

// Changes are the operators' changes to a service's subjects, in the Redis stream <namespace>:{history}:changes. Each has two entries: one with
// the state before the change, and one with the result. A change without the second was interrupted, and may have taken effect. Times are
// the server's. The stream keeps about the newest 10,000 entries and never expires.
type Changes struct {
	rdb redis.Cmdable
	key string
}

// ChangesIn returns the changes in a namespace without a round trip.
func ChangesIn(rdb redis.Cmdable, namespace string) *Changes {
	return &Changes{rdb: rdb, key: namespace + ":{history}:changes"}
}

// A Change is what an operator changes, and its result.
type Change struct {
	ID      string    `json:"id"`
	At      time.Time `json:"at"`
	By      string    `json:"by"`
	Command string    `json:"command"`
	Subject string    `json:"subject"`
	Reason  string    `json:"reason"`
	Before  string    `json:"before"` // the state before the change, as text
	Result  string    `json:"result"` // "unfinished" if it is unknown
	After   string    `json:"after,omitempty"`
}

// Begin records a change before it is made, and sets its ID and time.
func (l *Changes) Begin(ctx context.Context, e *Change) (err error) {
	e.ID, err = l.add(ctx, "by", e.By, "command", e.Command, "subject", e.Subject, "reason", e.Reason, "before", e.Before)
	if err != nil {
		return fmt.Errorf("record the change in %s (nothing was changed): %w", l.key, err)
	}
	e.At = timeOf(e.ID)
	return nil
}

// End records the result of a change that Begin has recorded.
func (l *Changes) End(ctx context.Context, e *Change) error {
	if _, err := l.add(ctx, "of", e.ID, "result", e.Result, "after", e.After); err != nil {
		return fmt.Errorf("record the result %[2]s in %[1]s: %[3]w", l.key, e.Result, err)
	}
	return nil
}

func (l *Changes) add(ctx context.Context, values ...any) (string, error) {
	id, err := l.rdb.XAdd(ctx, &redis.XAddArgs{Stream: l.key, MaxLen: maxEntries, Approx: true, Values: values}).Result()
	return id, connection.Nameless(err)
}

// Last returns the newest changes, newest first: of these subjects, or of all without any.
func (l *Changes) Last(ctx context.Context, n int, subjects ...string) ([]Change, error) {
	read := 2 * int64(n)
	if len(subjects) > 0 {
		read = 2 * maxEntries // the maximum is approximate
	}
	messages, err := l.rdb.XRevRangeN(ctx, l.key, "+", "-", read).Result()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.key, connection.Nameless(err))
	}
	ended := map[string]redis.XMessage{}
	changes := []Change{}
	for _, m := range messages {
		if of := text(m, "of"); of != "" {
			ended[of] = m
			continue
		}
		e := Change{
			ID: m.ID, At: timeOf(m.ID), Result: "unfinished",
			By: text(m, "by"), Command: text(m, "command"), Subject: text(m, "subject"), Reason: text(m, "reason"), Before: text(m, "before"),
		}
		if end, ok := ended[m.ID]; ok {
			e.Result, e.After = text(end, "result"), text(end, "after")
		}
		if len(subjects) == 0 || slices.Contains(subjects, e.Subject) {
			changes = append(changes, e)
		}
	}
	return changes[:min(n, len(changes))], nil
}

func text(m redis.XMessage, field string) string {
	value, _ := m.Values[field].(string)
	return value
}

// timeOf returns the server's time in an entry's ID, or the zero time if the ID is invalid.
func timeOf(id string) time.Time {
	ms, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
