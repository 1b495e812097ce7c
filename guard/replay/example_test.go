package replay_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/replay"
)

func ExampleRun() {
	p, err := policy.Parse("limits.yaml", []byte(`
endpoints:
  - name: search
    match: ["GET /v1/search"]
    limits: [{name: minute, by: ip, limit: 2, window: 1m}]
`))
	if err != nil {
		fmt.Println(err)
		return
	}
	log := strings.NewReader(`
192.0.2.1 - - [01/Mar/2026:12:00:00 +0000] "GET /v1/search?q=a HTTP/1.1" 200 12
192.0.2.1 - - [01/Mar/2026:12:00:01 +0000] "GET /v1/search?q=b HTTP/1.1" 200 12
192.0.2.1 - - [01/Mar/2026:12:00:02 +0000] "GET /v1/search?q=c HTTP/1.1" 200 12
192.0.2.2 - - [01/Mar/2026:12:00:02 +0000] "GET /v1/search?q=d HTTP/1.1" 200 12
`)
	report, err := replay.Run(context.Background(), log, p, replay.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Verdict())
	fmt.Println(report.Limits[0].Title(), "refused", report.Limits[0].Refused)
	// Output:
	// the policy would have refused 1 of 4 requests (25.0 %), of 1 of 2 subjects
	// search/minute refused 1
}
