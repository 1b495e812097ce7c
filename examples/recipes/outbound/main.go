// Command outbound looks up an item of somebody else's API for each line of its input, and stays within the API's limits, however many
// processes do the same.
package main

import (
	"bufio"
	"io"
	"log"
	"net/http"
	"net/url"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/outbound"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	limits, err := policy.Load("limits.yaml")
	must(err)
	g, err := guard.New(rdb, limits, guard.Options{})
	must(err)
	transport, err := outbound.New(g, outbound.Options{})
	must(err)
	client := &http.Client{Transport: transport}
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		answer, err := client.Get(os.Getenv("API_URL") + "/v1/items/" + url.PathEscape(lines.Text()))
		if err != nil {
			log.Print(err)
			continue
		}
		_, err = io.Copy(os.Stdout, answer.Body)
		must(err)
		answer.Body.Close()
	}
	must(g.Close())
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
