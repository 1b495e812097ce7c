package outbound_test

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/outbound"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func Example() {
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	defer api.Close()
	limits, err := policy.Parse("limits.yaml", []byte(`
version: 1
timeout: 10s
upstreams:
  - name: example
    match: [127.0.0.1/]
    max_wait: 1s
    limits:
      - {name: minute, kind: gcra, limit: 2, window: 1m}
`))
	if err != nil {
		log.Fatal(err)
	}
	g, err := guard.New(embedded.New(embedded.Options{}).Client(), limits, guard.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer g.Close()
	transport, err := outbound.New(g, outbound.Options{})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	for range 3 {
		response, err := client.Get(api.URL + "/v1/items")
		var refused *outbound.RefusedError
		if errors.As(err, &refused) {
			fmt.Println("not sent: the next one may be sent in less than a minute")
			continue
		}
		if err != nil {
			log.Fatal(err)
		}
		response.Body.Close()
		fmt.Println(response.Status)
	}
	// Output:
	// 200 OK
	// 200 OK
	// not sent: the next one may be sent in less than a minute
}
