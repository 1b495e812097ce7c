// Package audit records operators' changes to a guard's state in the Redis stream <namespace>:{audit}:log.
//
// Each operation has two entries: one with the state before the change, and one with the result. An operation without the second entry
// was interrupted, and may have taken effect. Times are the server's. The stream keeps about the newest 10,000 entries and never expires.
package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// maxEntries is the approximate maximum of entries in the stream.
const maxEntries = 10_000

// A Log is the stream of one namespace.
type Log struct {
	rdb redis.Cmdable
	key string
}

// Open returns the log of a namespace without a round trip.
func Open(rdb redis.Cmdable, namespace string) *Log {
	return &Log{rdb: rdb, key: namespace + ":{audit}:log"}
}

// An Entry is a change that an operator makes, and its result.
type Entry struct {
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

// Begin records an operation before it acts, and sets the entry's ID and time.
func (l *Log) Begin(ctx context.Context, e *Entry) (err error) {
	e.ID, err = l.add(ctx, "by", e.By, "command", e.Command, "subject", e.Subject, "reason", e.Reason, "before", e.Before)
	if err != nil {
		return fmt.Errorf("record the operation in %s (nothing was changed): %w", l.key, err)
	}
	e.At = timeOf(e.ID)
	return nil
}

// End records the result of an operation that Begin has recorded.
func (l *Log) End(ctx context.Context, e *Entry) error {
	if _, err := l.add(ctx, "of", e.ID, "result", e.Result, "after", e.After); err != nil {
		return fmt.Errorf("record the result %[2]s in %[1]s: %[3]w", l.key, e.Result, err)
	}
	return nil
}

func (l *Log) add(ctx context.Context, values ...any) (string, error) {
	return l.rdb.XAdd(ctx, &redis.XAddArgs{Stream: l.key, MaxLen: maxEntries, Approx: true, Values: values}).Result()
}

// Last returns the newest operations, newest first.
func (l *Log) Last(ctx context.Context, n int) ([]Entry, error) {
	messages, err := l.rdb.XRevRangeN(ctx, l.key, "+", "-", int64(2*n)).Result()
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", l.key, err)
	}
	ended := map[string]redis.XMessage{}
	entries := []Entry{}
	for _, m := range messages {
		if of := text(m, "of"); of != "" {
			ended[of] = m
			continue
		}
		e := Entry{
			ID: m.ID, At: timeOf(m.ID), Result: "unfinished",
			By: text(m, "by"), Command: text(m, "command"), Subject: text(m, "subject"), Reason: text(m, "reason"), Before: text(m, "before"),
		}
		if end, ok := ended[m.ID]; ok {
			e.Result, e.After = text(end, "result"), text(end, "after")
		}
		entries = append(entries, e)
	}
	return entries[:min(n, len(entries))], nil
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
