package inspect_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard/inspect"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// What is left of each limit of one API key.
func ExampleReader_Subject() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	defer rdb.Close()
	rules, err := policy.Load("limits.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	reader, err := inspect.NewReader(rdb, rules)
	if err != nil {
		fmt.Println(err)
		return
	}
	report, err := reader.Subject(context.Background(), "key=8f3a")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, limit := range report.Limits {
		fmt.Println(limit.Name, limit.Remaining, "of", limit.Limit)
	}
}
