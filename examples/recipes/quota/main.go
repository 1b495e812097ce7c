// Command quota gives each customer a number of calls per month. The month begins at midnight on the 1st where the customer is.
package main

import (
	"fmt"
	"log"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/fcall/calendar"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

// A customer is what your database says of the owner of an API key.
type customer struct {
	id, zone string
	calls    int64
}

var customers = map[string]customer{"key-of-ada": {"ada", "Asia/Kolkata", 3}, "key-of-bob": {"bob", "America/New_York", 1000}}

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true})
	client, err := ratelimit.New(rdb, fcall.Options{Namespace: "api"})
	must(err)
	http.HandleFunc("GET /v1/report", func(w http.ResponseWriter, r *http.Request) {
		c, known := customers[r.Header.Get("X-API-Key")]
		if !known {
			http.Error(w, "unknown API key", http.StatusUnauthorized)
			return
		}
		month, err := calendar.New(calendar.Period{Every: calendar.Month, Zone: c.zone})
		must(err)
		b := month.Around(time.Now())
		q, err := client.Quota(r.Context(), ratelimit.QuotaParams{
			Subject: fcall.Subject(c.id), Limit: c.calls, Previous: b.Previous, Start: b.Start, Next: b.Next, After: b.After,
		})
		switch {
		case err != nil:
			http.Error(w, "try again soon", http.StatusServiceUnavailable)
		case !q.Allowed:
			w.Header().Set("Retry-After", fmt.Sprint(int(q.RetryAfter/time.Second)+1))
			http.Error(w, "this month's calls are used up; the next begins on "+b.Next.Format(time.RFC1123Z), http.StatusTooManyRequests)
		default:
			fmt.Fprintln(w, "here is your report;", q.Remaining, "calls left this month")
		}
	})
	must(http.ListenAndServe("127.0.0.1:8080", nil))
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
