package report

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
)

// An Interval holds the counts of one process, or of several that are merged.
type Interval struct {
	Format   int       `json:"format"`            // 1
	Process  string    `json:"process,omitempty"` // "" if merged
	At       time.Time `json:"at"`                // end of the interval, by the process's clock
	Seconds  float64   `json:"seconds"`           // length of the interval
	Requests int64     `json:"requests"`          // decisions
	Refused  int64     `json:"refused"`           // refused requests
	Failed   int64     `json:"failed"`            // errors, mostly failure mode closed without Redis
	Subjects []Count   `json:"subjects"`          // most refused subjects, by limit, budget or block; for a global limit the client
	Limits   []Count   `json:"limits"`            // limits that refused ("chat minute", "chat all (global)"), or reasons ("blocked", "budget")
	Merged   int       `json:"merged,omitempty"`  // number of merged processes

	Unreadable []string `json:"unreadable,omitempty"` // keys that hold something else in place of a report
}

func key(namespace, process string) string { return namespace + ":{report}:" + process }

// processes names the sorted set of processes by the time of their last report.
const processes = "processes"

// Read returns the last report of each process of a namespace. A key that holds something else gives an Interval with only Unreadable.
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
			continue // the report has expired
		}
		var in Interval
		if err := json.Unmarshal([]byte(text), &in); err != nil || in.Format != 1 {
			in = Interval{Format: 1, Unreadable: []string{keys[i]}}
		}
		all = append(all, in)
	}
	return all, nil
}

func wrap(namespace string, err error) error {
	if err != nil {
		return fmt.Errorf("read reports of namespace %s: %w", namespace, err)
	}
	return nil
}

// Merge adds up the reports of several processes. Its Seconds are those of the longest.
func Merge(all []Interval) Interval {
	sum := Interval{Format: 1}
	subjects, limits := map[string]Count{}, map[string]Count{}
	for i := range all {
		in := &all[i]
		if len(in.Unreadable) > 0 {
			sum.Unreadable = append(sum.Unreadable, in.Unreadable...)
			continue
		}
		sum.Merged++
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
