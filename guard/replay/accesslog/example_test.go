package accesslog_test

import (
	"fmt"
	"strings"

	"github.com/rlfunc/rlfunc/guard/replay/accesslog"
)

func ExampleReader_Next() {
	r, err := accesslog.NewReader(strings.NewReader(`
192.0.2.1 - ada [01/Mar/2026:12:00:00 +0000] "GET /v1/search?q=a HTTP/1.1" 200 12
hello
`), accesslog.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	block, err := r.Next()
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, l := range block.Lines {
		fmt.Println(r.Format(), l.Number, l.Addr, l.User, l.Method, l.Path, l.Status)
	}
	for _, bad := range block.Bad {
		fmt.Println(bad)
	}
	// Output:
	// common 2 192.0.2.1 ada GET /v1/search?q=a 200
	// line 3: must be a common or combined log line: ADDRESS - USER [TIME] "REQUEST" STATUS
}
