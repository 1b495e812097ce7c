package luatest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// A Step is one call of a table and all that it does. C is the generated client's type.
type Step[C any] struct {
	// Name says what the step shows. Defaults to its number alone.
	Name string
	// Advance moves the clock first, back if negative. Defaults to the time of the step before.
	Advance time.Duration
	// Given prepares the server behind the library's back, after the clock has moved. Defaults to nothing.
	Given func(t testing.TB, s *Server)
	// Call calls the library; [Call] makes it from a method and its parameters. Defaults to no call.
	Call func(ctx context.Context, client C) (any, error)
	// Want is the whole result, or [Any]. Defaults to none, where there is no call or an error is wanted.
	Want any
	// WantErr is what the call's error must be, by errors.Is: [fcall.ErrArgument], or &[fcall.CodeError]{Code: "QUOTA"} for a
	// declared error. Defaults to no error.
	WantErr error
	// Writes says that the call changes a key or an expiry. Without it nothing at all may change.
	Writes bool
	// TTLs is what every key has left after the call, [Immortal] without an expiry. Defaults to any expiry, but one each unless the
	// header of the key says that it lasts.
	TTLs map[string]time.Duration
}

// Any is what a step wants whose result does not matter.
var Any any = anything{}

type anything struct{}

// Call makes a step's call: luatest.Call((*ratelimit.Client).GCRA, ratelimit.GCRAParams{...}).
func Call[C, P, R any](method func(C, context.Context, P) (R, error), params P) func(context.Context, C) (any, error) {
	return func(ctx context.Context, client C) (any, error) { return method(client, ctx, params) }
}

// run runs one step. A step that fails ends the test: those after it begin from another state.
func (st Step[C]) run(t *testing.T, s *Server, client C, number int) {
	t.Helper()
	ctx := t.Context()
	fail := func(format string, args ...any) {
		t.Helper()
		t.Fatalf("step %d (%s) at %s after the start: "+format,
			append([]any{number, st.Name, s.now.Sub(Start)}, args...)...)
	}
	if st.Advance != 0 {
		s.Advance(t, st.Advance)
	}
	if st.Given != nil {
		st.Given(t, s)
	}
	if st.Call == nil {
		return
	}
	before, err := s.Snapshot(ctx)
	if err != nil {
		fail("%v", err)
	}
	if s.strict != nil {
		s.strict.Before(st.Given != nil)
	}
	got, err := st.Call(ctx, client)
	if s.strict != nil {
		for _, f := range s.strict.After() {
			fail("%v", f)
		}
	}
	switch {
	case st.WantErr != nil && !errors.Is(err, st.WantErr):
		fail("error is %v, want %v", err, st.WantErr)
	case st.WantErr == nil && err != nil:
		fail("%v", err)
	case st.WantErr == nil:
		if diff := cmp.Diff(st.Want, got); diff != "" && st.Want != Any {
			fail("result (-want +got):\n%s", diff)
		}
	}
	after, err := s.Snapshot(ctx)
	if err != nil {
		fail("%v", err)
	}
	if problem := st.keys(before, after, s.lasts); problem != "" {
		fail("%s", problem)
	}
}

// keys describes what is wrong with the keys after a call. Those that last need no expiry.
func (st Step[C]) keys(before, after map[string]Key, lasts func(string) bool) string {
	diff := cmp.Diff(before, after)
	if diff != "" && !st.Writes {
		return "the call was to leave every key as it was (-before +after):\n" + diff
	}
	if diff == "" && st.Writes {
		return "the call was to write, and every key is as it was"
	}
	ttls := map[string]time.Duration{}
	for name, k := range after {
		ttls[name] = k.TTL
		if k.TTL == Immortal && before[name].TTL != Immortal && !lasts(name) {
			return "the call left " + name + " without an expiry"
		}
	}
	if st.TTLs != nil {
		if diff := cmp.Diff(st.TTLs, ttls); diff != "" {
			return "expiries (-want +got):\n" + diff
		}
	}
	return ""
}
