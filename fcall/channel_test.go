package fcall_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
)

func TestChannel_renamesLibrary(t *testing.T) {
	canary, err := ratelimit.Library.Channel("canary")
	if err != nil {
		t.Fatal(err)
	}
	was, is := strings.Split(ratelimit.Library.Code, "\n"), strings.Split(canary.Code, "\n")
	if len(was) != len(is) {
		t.Fatalf("%d lines became %d", len(was), len(is))
	}
	functions := 0
	for i := range was {
		switch {
		case was[i] == is[i]:
		case is[i] == "#!lua name=ratelimit_v1_canary" && i == 0:
		case is[i] == was[i]+" channel=canary" && strings.HasPrefix(was[i], "-- rlfunc: library="):
		case is[i] == strings.Replace(was[i], "{function_name = 'ratelimit_v1_", "{function_name = 'ratelimit_v1_canary_", 1):
			functions++
		default:
			t.Errorf("line %d: %q became %q", i+1, was[i], is[i])
		}
	}
	if want := strings.Count(ratelimit.Library.Code, "\nredis.register_function{"); functions != want || want == 0 {
		t.Errorf("%d functions were renamed, want %d", functions, want)
	}
	if canary.ServerName != "ratelimit_v1_canary" || canary.Version != ratelimit.Library.Version || canary.Name != "ratelimit" {
		t.Errorf("it is %s %s of %s", canary.ServerName, canary.Version, canary.Name)
	}
	if same, err := ratelimit.Library.Channel(""); same != ratelimit.Library || err != nil {
		t.Errorf("the empty channel is %v, %v", same, err)
	}
}

func TestChannel_rejectsNames(t *testing.T) {
	for name, want := range map[string]string{
		"Canary": "the name must be", "can_ary": "the name must be", "1st": "the name must be", "stable": "the name must be", "a b": "the name must be", "é": "the name must be",
		strings.Repeat("x", 33): "the name must be",
		"check":                 "", // check_peek is there, and peek is not
	} {
		_, err := ratelimit.Library.Channel(name)
		if got := fmt.Sprint(err); want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%q: %s", name, got)
		}
	}
	lib := &fcall.Library{Name: "x", ServerName: "x_v1", Code: "#!lua name=x_v1\nredis.register_function{function_name = 'x_v1_peek', callback = f}\nredis.register_function{function_name = 'x_v1_gcra_peek', callback = f}\n"}
	_, err := lib.Channel("gcra")
	if diff := cmp.Diff(`channel of x_v1: "gcra" would call a function x_v1_gcra_peek, which the library has already`, fmt.Sprint(err)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// A canary beside the stable library counts in the same keys, and reports its own name.
func TestChannel_runsBesideTheLibraryOnTheSameKeys(t *testing.T) {
	server := embedded.New(embedded.Options{})
	defer server.Close()
	limit := ratelimit.FixedWindowParams{Subject: "u1", Limit: 2, Window: time.Hour}
	var left []int64
	for _, channel := range []string{"", "canary", "canary"} {
		c, err := ratelimit.New(server, fcall.Options{Channel: channel})
		if err != nil {
			t.Fatal(err)
		}
		r, err := c.FixedWindow(t.Context(), limit)
		if err != nil {
			t.Fatal(err)
		}
		left = append(left, r.Remaining)
	}
	if diff := cmp.Diff([]int64{1, 0, 0}, left); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	off, err := ratelimit.New(server, fcall.Options{Channel: "blue", NoAutoLoad: true})
	if err != nil {
		t.Fatal(err)
	}
	_, err = off.FixedWindow(t.Context(), limit)
	if diff := cmp.Diff("ratelimit.fixed_window: ratelimit_v1_blue is not loaded on this server; run `rlfunc deploy`", fmt.Sprint(err)); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if got := off.Fcall().Library().ServerName; got != "ratelimit_v1_blue" {
		t.Errorf("the client's library is %s", got)
	}
	if _, err := ratelimit.New(server, fcall.Options{Channel: "No"}); err == nil {
		t.Error("a bad channel is taken")
	}
}
