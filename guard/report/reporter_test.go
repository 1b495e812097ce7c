package report_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/identity"
	"github.com/rlfunc/rlfunc/guard/policy"
	"github.com/rlfunc/rlfunc/guard/report"
	"github.com/rlfunc/rlfunc/internal/engines"
)

func TestMain(m *testing.M) { engines.Main(m) }

var rules = &policy.Policy{
	Timeout: 10 * time.Second, OnFailure: policy.Closed,
	Endpoints: []policy.Endpoint{{
		Name: "chat",
		Limits: []policy.Limit{
			{Name: "minute", Limit: 2, Window: time.Hour},
			{Name: "tried", Limit: 1, Window: time.Hour, Shadow: true},
			{Name: "near", By: policy.By{policy.ByIP}, Limit: 4, Window: time.Hour},
			{Name: "all", By: policy.By{policy.ByAll}, Limit: 7, Window: time.Hour},
		},
	}},
	Identities: map[string]policy.Identity{
		"key":    {Header: "X-API-Key", Verify: &policy.Verify{Func: true}},
		"client": {First: []string{"key", "ip"}},
	},
	Overrides: policy.Overrides{Deny: []string{"key=bad"}},
}

func TestReporter_processesAddUp(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			for i, subjects := range [][]string{ // the clients of each process share an address
				{"key=1", "key=1", "key=1", "key=1", "key=bad"},
				{"key=1", "key=2", "key=2", "key=2", "key=3", "key=4", "key=5", "key=6"},
				{"key=7", "key=8"},
			} {
				r, err := report.New(rdb, report.Options{Process: fmt.Sprint("p", i), Every: time.Hour, OnError: func(err error) { t.Error(err) }})
				if err != nil {
					t.Fatal(err)
				}
				g, err := guard.New(rdb, rules, guard.Options{Observers: []guard.Observer{r.Observe}, Processes: r.Processes})
				if err != nil {
					t.Fatal(err)
				}
				for _, s := range subjects {
					if _, err := g.Decide(t.Context(), guard.Request{Endpoint: "chat", Subjects: []string{s, fmt.Sprintf("ip=192.0.2.%d", i)}}); err != nil {
						t.Fatal(err)
					}
				}
				g.Close()
				r.Close() // writes
			}
			all, err := report.Read(t.Context(), rdb, "rl")
			if err != nil {
				t.Fatal(err)
			}
			got := report.Merge(all)
			want := report.Interval{
				Format: 1, Merged: 3, Requests: 15, Refused: 8,
				Subjects: []report.Count{{Name: "key=1", N: 3}, {Name: "ip=192.0.2.1", N: 2}, {Name: "key=2", N: 1}, {Name: "key=8", N: 1}, {Name: "key=bad", N: 1}},
				Limits:   []report.Count{{Name: "chat minute", N: 4}, {Name: "chat near", N: 2}, {Name: "chat all (global)", N: 1}, {Name: "denied", N: 1}},
			}
			if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(report.Interval{}, "At", "Seconds")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, key := range rdb.Keys(t.Context(), "rl:{report}:*").Val() {
				if ttl := rdb.PTTL(t.Context(), key).Val(); ttl <= 0 {
					t.Errorf("%s never expires", key)
				}
			}
		})
	}
}

// Reports of many subjects are bounded. A report that cannot be written calls OnError and blocks no request.
func TestReporter_isBoundedAndNeverBlocks(t *testing.T) {
	failed := make(chan error, 1)
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1})
	defer rdb.Close()
	r, err := report.New(rdb, report.Options{Every: time.Hour, MaxSubjects: 100, OnError: func(err error) { failed <- err }})
	if err != nil {
		t.Fatal(err)
	}
	decided := r.Observe
	for i := range 100_000 {
		decided(t.Context(), guard.Decided{Decision: &guard.Decision{Subject: fmt.Sprint("key=", i), Endpoint: "chat", Reason: guard.ReasonBlocked}})
	}
	decided(t.Context(), guard.Decided{Err: errors.New("no answer")})
	r.Close()
	if err := <-failed; err == nil {
		t.Error("no error")
	}
	if _, err := report.New(rdb, report.Options{Every: time.Millisecond}); err == nil {
		t.Error("an interval of 1 ms is accepted")
	}
	if _, err := report.New(rdb, report.Options{Namespace: "a:b"}); err == nil {
		t.Error("a namespace with a colon is accepted")
	}
}

// A subject from the service's own code reaches a terminal only in printable form.
func TestReporter_subjectsArePrintable(t *testing.T) {
	for _, e := range engines.Real(t) {
		t.Run(e.Name, func(t *testing.T) {
			rdb := e.Client(t)
			r, err := report.New(rdb, report.Options{Every: time.Hour, OnError: func(err error) { t.Error(err) }})
			if err != nil {
				t.Fatal(err)
			}
			plain := []string{"ip=2001:db8::/64", "tenant=a b+path=/x%2B1"}
			for _, s := range append([]string{"user=\x1b[2J", "tenant=a+user=\u202egnp", "\u0085=1", "user=\u3164"}, plain...) {
				r.Observe(t.Context(), guard.Decided{Decision: &guard.Decision{Refused: s, Endpoint: "chat", Reason: guard.ReasonBlocked}})
			}
			r.Close()
			all, err := report.Read(t.Context(), rdb, "rl")
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, c := range report.Merge(all).Subjects {
				got = append(got, c.Name)
				for part := range strings.SplitSeq(c.Name, "+") {
					if _, value, _ := strings.Cut(part, "="); !identity.IsValue(value) && !identity.IsValue(part) {
						t.Errorf("a report has the subject %q", c.Name)
					}
				}
			}
			for _, s := range plain {
				if !slices.Contains(got, s) {
					t.Errorf("%s is not in %q", s, got)
				}
			}
		})
	}
}

// What is no report does not hide the others.
func TestRead_skipsWhatIsNoReport(t *testing.T) {
	server := embedded.New(embedded.Options{})
	defer server.Close()
	rdb := server.Client()
	defer rdb.Close()
	for _, process := range []string{"bad", "good", "newer"} {
		r, err := report.New(rdb, report.Options{Process: process, Every: time.Hour, OnError: func(err error) { t.Error(err) }})
		if err != nil {
			t.Fatal(err)
		}
		r.Observe(t.Context(), guard.Decided{Decision: &guard.Decision{Refused: "ip=ada", Reason: guard.ReasonBlocked}})
		r.Close()
	}
	for process, text := range map[string]string{"bad": "{", "newer": `{"format":2,"refused":9}`} {
		if err := rdb.Set(t.Context(), "rl:{report}:"+process, text, time.Hour).Err(); err != nil {
			t.Fatal(err)
		}
	}
	all, err := report.Read(t.Context(), rdb, "rl")
	if err != nil {
		t.Fatal(err)
	}
	sum := report.Merge(all)
	want := report.Interval{Format: 1, Requests: 1, Refused: 1, Merged: 1, Unreadable: []string{"rl:{report}:bad", "rl:{report}:newer"}}
	ignored := cmpopts.IgnoreFields(report.Interval{}, "At", "Seconds", "Subjects", "Limits")
	if diff := cmp.Diff(want, sum, ignored, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
