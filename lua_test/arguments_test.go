package luatest_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/gen/ratelimit"
	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// A rawArg is one argument of a function as the wire has it.
type rawArg struct {
	name        string
	legal       string // what it is while another one is tried
	must        string // of the refusal
	least, most int64  // bytes, for a text
	text, flag  bool
	optional    bool
}

// A rawCall is a function called past its client.
type rawCall struct {
	name     string
	readOnly bool
	keys     []string
	args     []rawArg
}

const (
	mustCount    = "be a whole number from 1 to 1000000"
	mustDuration = "be from 1 to 315360000000000 microseconds"
)

var (
	countArg    = rawArg{legal: "5", must: mustCount, least: 1, most: 1_000_000}
	durationArg = rawArg{legal: "1000000", must: mustDuration, least: 1, most: 315_360_000_000_000}
)

func (a rawArg) as(name string) rawArg { a.name = name; return a }

func (a rawArg) opt() rawArg { a.optional, a.legal = true, ""; return a }

var rawCalls = []rawCall{
	{name: "sliding_log", keys: []string{"log", "receipts"}, args: []rawArg{
		countArg.as("limit"), durationArg.as("window"),
		{name: "receipt", must: "be 1 to 256 bytes", least: 1, most: 256, text: true, optional: true},
		durationArg.as("dedup").opt(),
		{name: "refresh", must: "be 1 or 0", flag: true, optional: true},
	}},
	{name: "sliding_log_peek", readOnly: true, keys: []string{"log"}, args: []rawArg{countArg.as("limit"), durationArg.as("window")}},
	{name: "sliding_log_reset", keys: []string{"log", "receipts"}},
	{name: "gcra", keys: []string{"gcra"}, args: bucketArgs()},
	{name: "gcra_peek", readOnly: true, keys: []string{"gcra"}, args: bucketArgs()},
	{name: "gcra_reset", keys: []string{"gcra"}},
	{name: "gcra_refund", keys: []string{"gcra"}, args: refund(bucketArgs()...)},
	{name: "sliding_log_refund", keys: []string{"log", "receipts"}, args: []rawArg{
		{name: "receipt", legal: "r", must: "be 1 to 256 bytes", least: 1, most: 256, text: true},
	}},
	{name: "fixed_window", keys: []string{"window"}, args: windowArgs(durationArg)},
	{name: "fixed_window_peek", readOnly: true, keys: []string{"window"}, args: windowArgs(durationArg)},
	{name: "fixed_window_reset", keys: []string{"window"}},
	{name: "fixed_window_refund", keys: []string{"window"}, args: refund(windowArgs(durationArg)...)},
	{name: "sliding_counter", keys: []string{"counter"}, args: windowArgs(quarterArg)},
	{name: "sliding_counter_peek", readOnly: true, keys: []string{"counter"}, args: windowArgs(quarterArg)},
	{name: "sliding_counter_reset", keys: []string{"counter"}},
	{name: "sliding_counter_refund", keys: []string{"counter"}, args: refund(windowArgs(quarterArg)...)},
}

var (
	costArg    = rawArg{name: "cost", legal: "1", must: "be a whole number from 0 to 1000000", least: 0, most: 1_000_000, optional: true}
	quarterArg = rawArg{legal: "1000000", must: "be from 1 to 7776000000000 microseconds", least: 1, most: 7_776_000_000_000}
)

func windowArgs(window rawArg) []rawArg {
	limit := countArg.as("limit")
	limit.legal = "1000000"
	return []rawArg{limit, window.as("window"), costArg}
}

// refund makes the arguments of a call those of its refund: giving back nothing is no refund.
func refund(args ...rawArg) []rawArg {
	cost := &args[len(args)-1]
	cost.least, cost.must = 1, mustCount
	return args
}

func bucketArgs() []rawArg {
	burst := countArg.as("burst").opt()
	burst.legal = "1000000"
	return []rawArg{
		countArg.as("limit"), durationArg.as("period"), burst,
		costArg,
	}
}

// refused lists texts that the argument can not be.
func (a rawArg) refused() []string {
	if a.text {
		bad := []string{strings.Repeat("r", int(a.most)+1), strings.Repeat("r", 1<<20)}
		if !a.optional {
			bad = append(bad, "")
		}
		return bad
	}
	bad := []string{
		"nan", "NaN", "-nan", "inf", "-inf", "INF", "infinity", "1e3", "1E3", "1e309", "0x10", "0X1F", "0b1", "-0", "-1", "+5",
		" ", " 1", "1 ", "\t1", "1\n", "1\r\n", "5\x00", "\x005", "\x00", "007", "00", "1.0", "1.5", ".5", "5.", "1,000", "1_000",
		"one", "true", "\xff", "\xd9\xa1", "9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808",
		"18446744073709551616", "99999999999999999999", strings.Repeat("1", 1<<20), strings.Repeat("0", 1<<20), strings.Repeat("x", 1<<20),
	}
	if a.flag {
		return append(bad, "2", "01", "yes")
	}
	if a.least > 0 {
		bad = append(bad, strconv.FormatInt(a.least-1, 10))
	}
	if !a.optional {
		bad = append(bad, "")
	}
	return append(bad, strconv.FormatInt(a.most+1, 10))
}

// accepted lists texts that the argument may be.
func (a rawArg) accepted() []string {
	switch {
	case a.text:
		good := []string{"r", strings.Repeat("r", int(a.most)), "\x00", "\r\n", "\xff"}
		if a.optional {
			good = append(good, "")
		}
		return good
	case a.flag:
		return []string{"", "0", "1"}
	}
	ok := []string{strconv.FormatInt(a.least, 10), strconv.FormatInt(a.most, 10)}
	if a.optional {
		ok = append(ok, "")
	}
	return ok
}

// call sends the function with one argument replaced; text is the error reply.
func (c rawCall) call(t *testing.T, s *luatest.Server, keys []string, args []string) (text string) {
	t.Helper()
	command := "FCALL"
	if c.readOnly {
		command = "FCALL_RO"
	}
	words := []any{command, "ratelimit_v1_" + c.name, len(keys)}
	for _, k := range keys {
		words = append(words, k)
	}
	for _, a := range args {
		words = append(words, a)
	}
	if err := s.Redis.Do(t.Context(), words...).Err(); err != nil {
		return err.Error()
	}
	return ""
}

func (c rawCall) legal() []string {
	args := make([]string, len(c.args))
	for i, a := range c.args {
		args[i] = a.legal
	}
	return args
}

func (c rawCall) fullKeys() []string {
	keys := make([]string, len(c.keys))
	for i, suffix := range c.keys {
		keys[i] = key("raw", suffix)
	}
	return keys
}

func TestArguments_outOfBoundsAreRefusedByTheServerToo(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, _ *ratelimit.Client) {
		tried := 0
		for _, c := range rawCalls {
			for i, a := range c.args {
				for _, bad := range a.refused() {
					args := c.legal()
					args[i] = bad
					tried++
					want := fmt.Sprintf("RLARG %s must %s", a.name, a.must)
					if diff := cmp.Diff(want, c.call(t, s, c.fullKeys(), args)); diff != "" {
						t.Errorf("%s %s=%.40q (-want +got):\n%s", c.name, a.name, bad, diff)
					}
				}
			}
			for _, n := range []int{0, len(c.keys) + 1, 5} {
				keys := append(c.fullKeys(), "x", "x", "x", "x", "x")[:n]
				if got := c.call(t, s, keys, c.legal()); !strings.HasPrefix(got, "RLARG "+c.name+" must be called with ") {
					t.Errorf("%s with %d keys: %q", c.name, n, got)
				}
			}
			for _, args := range [][]string{append(c.legal(), "1"), append(c.legal(), make([]string, 300)...)} {
				if got := c.call(t, s, c.fullKeys(), args); !strings.HasPrefix(got, "RLARG "+c.name+" must be called with ") {
					t.Errorf("%s with %d arguments: %q", c.name, len(args), got)
				}
			}
		}
		keys, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if len(keys) > 0 {
			t.Errorf("refused calls wrote %v", keys)
		}
		t.Logf("%d arguments refused", tried)
	})
}

func TestArguments_atTheirBoundsAreTaken(t *testing.T) {
	limiters.Each(t, func(t *testing.T, s *luatest.Server, _ *ratelimit.Client) {
		for _, c := range rawCalls {
			for i, a := range c.args {
				for _, good := range a.accepted() {
					args := c.legal()
					args[i] = good
					if strings.HasPrefix(c.name, "gcra") {
						switch a.name {
						case "limit", "burst", "period":
							args[3] = "1"
						}
						if a.name == "period" && good != "" {
							args[2] = "1" // a bucket may take 100 years to fill
						}
					}
					if a.name == "limit" && len(args) == 3 {
						args[2] = good // a cost is at most limit
					}
					if got := c.call(t, s, c.fullKeys(), args); got != "" {
						t.Errorf("%s %s=%.40q: %s", c.name, a.name, good, got)
					}
				}
			}
		}
	})
}
