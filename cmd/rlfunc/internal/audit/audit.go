// Package audit keeps who has changed what a guard decides by hand, in a stream of Redis: <namespace>:{audit}:log.
//
// An operation is two entries: one before the change, with the state, and one after it, with the result. One without the second was cut
// off, and may have acted. The time is the server's. About the newest 10,000 entries are kept; the stream never expires.
package audit

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// kept is about how many entries the stream has at most.
const kept = 10_000

// A Log is the stream of one namespace.
type Log struct {
	rdb redis.Cmdable
	key string
}

// Open returns the log of a namespace. It sends nothing.
func Open(rdb redis.Cmdable, namespace string) *Log {
	return &Log{rdb: rdb, key: namespace + ":{audit}:log"}
}

// An Operation is what is about to be done.
type Operation struct {
	By      string `json:"by"`
	Command string `json:"command"`
	Subject string `json:"subject"`
	Reason  string `json:"reason"`
	Before  string `json:"before"` // what was there, in words
}

// An Entry is an operation and its result.
type Entry struct {
	ID string    `json:"id"`
	At time.Time `json:"at"`
	Operation
	Result string `json:"result"` // "unfinished" when nothing is known
	After  string `json:"after,omitempty"`
}

// Begin records an operation before it acts, and returns the entry's ID.
func (l *Log) Begin(ctx context.Context, o Operation) (string, error) {
	id, err := l.add(ctx, "by", o.By, "command", o.Command, "subject", o.Subject, "reason", o.Reason, "before", o.Before)
	if err != nil {
		return "", fmt.Errorf("record in %s, so that nothing was changed: %w", l.key, err)
	}
	return id, nil
}

// End records the result of the operation with the ID that Begin returned.
func (l *Log) End(ctx context.Context, id, result, after string) error {
	if _, err := l.add(ctx, "of", id, "result", result, "after", after); err != nil {
		return fmt.Errorf("record in %s that it is done (%s): %w", l.key, result, err)
	}
	return nil
}

func (l *Log) add(ctx context.Context, values ...any) (string, error) {
	return l.rdb.XAdd(ctx, &redis.XAddArgs{Stream: l.key, MaxLen: kept, Approx: true, Values: values}).Result()
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
		e := Entry{ID: m.ID, At: TimeOf(m.ID), Result: "unfinished", Operation: Operation{
			By: text(m, "by"), Command: text(m, "command"), Subject: text(m, "subject"), Reason: text(m, "reason"), Before: text(m, "before"),
		}}
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

// TimeOf is the server's time in an entry's ID.
func TimeOf(id string) time.Time {
	ms, _, _ := strings.Cut(id, "-")
	n, err := strconv.ParseInt(ms, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(n).UTC()
}
