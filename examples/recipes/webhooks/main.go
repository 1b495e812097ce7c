// Command webhooks delivers events, a JSON object on each line, no faster than their customers want them. Start as many as you need.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"log"
	"net/http"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

type event struct{ Customer, URL, Body string }

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	limits, err := policy.Load("limits.yaml")
	must(err)
	g, err := guard.New(rdb, limits, guard.Options{})
	must(err)
	for events := json.NewDecoder(os.Stdin); events.More(); {
		var e event
		must(events.Decode(&e))
		if err := deliver(context.Background(), g, e); err != nil {
			log.Print("not delivered: ", e, ": ", err)
		}
	}
	must(g.Close())
}

func deliver(ctx context.Context, g *guard.Guard, e event) error {
	d, err := g.Wait(ctx, guard.Request{Endpoint: "deliver", Subjects: []string{"customer=" + e.Customer}})
	if err != nil {
		return err
	}
	if !d.Allowed { // no wait helps, for example because an operator denies the customer
		return errors.New("refused: " + string(d.Reason))
	}
	d.Charge.Keep() // keeps the place however slow the customer's server is
	defer d.Charge.End(ctx, guard.End{})
	answer, err := http.Post(e.URL, "application/json", strings.NewReader(e.Body))
	if err != nil {
		return err
	}
	return answer.Body.Close()
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
