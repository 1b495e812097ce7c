package report_test

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/report"
)

// A guard that reports refused subjects to rlfunc top.
func Example_guard() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	defer rdb.Close()
	rules := &policy.Policy{Namespace: "shop"}

	reporter, err := report.New(rdb, report.Options{Namespace: "shop"}) // as in the policy
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reporter.Close()
	g, err := guard.New(rdb, rules, guard.Options{Observers: []guard.Observer{reporter.Observe}, Processes: reporter.Processes})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
}

func ExampleMerge() {
	total := report.Merge([]report.Interval{
		{Requests: 100, Refused: 3, Subjects: []report.Count{{Name: "key=1", N: 2}, {Name: "key=2", N: 1}}},
		{Requests: 200, Refused: 2, Subjects: []report.Count{{Name: "key=1", N: 2}}},
	})
	fmt.Println(total.Refused, "of", total.Requests, "refused in", total.Merged, "processes")
	for _, c := range total.Subjects {
		fmt.Println(c.Name, c.N)
	}
	// Output:
	// 5 of 300 refused in 2 processes
	// key=1 4
	// key=2 1
}
