package report_test

import (
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/report"
)

// A guard that tells rlfunc top whom it refuses.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"})
	defer rdb.Close()
	rules := &policy.Policy{Namespace: "shop"}

	reporter, err := report.New(rdb, report.Options{Namespace: "shop"}) // as in the policy
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reporter.Close()
	g, err := guard.New(rdb, rules, guard.Options{Hooks: []guard.Hooks{reporter.Hooks()}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer g.Close()
}
