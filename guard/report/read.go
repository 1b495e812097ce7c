package report

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// An Interval is what one process, or all of them together, counted.
type Interval struct {
	Format   int       `json:"format"`
	Process  string    `json:"process,omitempty"`
	At       time.Time `json:"at"`               // its end, by the process's clock
	Seconds  float64   `json:"seconds"`          // its length
	Requests int64     `json:"requests"`         // decided
	Refused  int64     `json:"refused"`          // of them
	Failed   int64     `json:"failed"`           // errors: a closed limit without Redis, mostly
	Subjects []Count   `json:"subjects"`         // whose limit, budget or block refused most; of a global limit the clients
	Limits   []Count   `json:"limits"`           // that refused: chat minute, chat all (global), or a reason: blocked, budget
	Merged   int       `json:"merged,omitempty"` // how many processes it is of
}

func key(namespace, process string) string { return namespace + ":{report}:" + process }

// processes is the sorted set of processes by the time of their last report.
const processes = "processes"

// Read returns what the processes of a namespace reported last.
func Read(ctx context.Context, rdb redis.Cmdable, namespace string) ([]Interval, error) {
	names, err := rdb.ZRange(ctx, key(namespace, processes), 0, -1).Result()
	if err != nil || len(names) == 0 {
		return nil, wrap(namespace, err)
	}
	keys := make([]string, len(names))
	for i, name := range names {
		keys[i] = key(namespace, name)
	}
	texts, err := rdb.MGet(ctx, keys...).Result()
	if err != nil {
		return nil, wrap(namespace, err)
	}
	var all []Interval
	for i, text := range texts {
		text, ok := text.(string)
		if !ok {
			continue // it has ended, or was silent for too long
		}
		var in Interval
		if err := json.Unmarshal([]byte(text), &in); err != nil || in.Format != 1 {
			return nil, wrap(namespace, errors.Join(err, fmt.Errorf("%s is no report of format 1", keys[i])))
		}
		all = append(all, in)
	}
	return all, nil
}

func wrap(namespace string, err error) error {
	if err != nil {
		return fmt.Errorf("read the reports of %s: %w", namespace, err)
	}
	return nil
}

// Merge adds up what several processes reported. Its length is that of the longest.
func Merge(all []Interval) Interval {
	sum := Interval{Format: 1, Merged: len(all)}
	subjects, limits := map[string]Count{}, map[string]Count{}
	for i := range all {
		in := &all[i]
		sum.Requests += in.Requests
		sum.Refused += in.Refused
		sum.Failed += in.Failed
		sum.Seconds = max(sum.Seconds, in.Seconds)
		if in.At.After(sum.At) {
			sum.At = in.At
		}
		addAll(subjects, in.Subjects)
		addAll(limits, in.Limits)
	}
	sum.Subjects, sum.Limits = sorted(subjects), sorted(limits)
	return sum
}

func addAll(to map[string]Count, counts []Count) {
	for _, c := range counts {
		had := to[c.Name]
		to[c.Name] = Count{Name: c.Name, N: had.N + c.N, Over: had.Over + c.Over}
	}
}

func sorted(counts map[string]Count) []Count {
	all := make([]Count, 0, len(counts))
	for _, c := range counts {
		all = append(all, c)
	}
	sortCounts(all)
	return all
}

func sortCounts(all []Count) {
	slices.SortFunc(all, func(a, b Count) int { return cmp.Or(cmp.Compare(b.N, a.N), cmp.Compare(a.Name, b.Name)) })
}
