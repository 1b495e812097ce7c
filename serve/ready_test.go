package serve

import (
	"bytes"
	"errors"
	"log/slog"
	"net/http/httptest"
	"regexp"
	"testing"

	"google.golang.org/grpc/health"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A step is an answer of Redis, and what follows from it.
type step struct {
	err  error
	code int
	body string
	log  string
}

func TestReadiness_saysAndLogsEachReasonOnce(t *testing.T) {
	lost := errors.New("read tcp 127.0.0.1:41234: timeout")
	denied := &fcall.UnavailableError{Function: "guard.peek", Code: "WRONGPASS", Cause: errors.New("WRONGPASS")}
	missing := &fcall.NotLoadedError{Function: "guard.peek", Library: "guard_v1"}
	message := regexp.MustCompile(`msg=(?:"(.*?)"|(\w+))`)
	var log bytes.Buffer
	r := newReadiness(health.NewServer(), slog.New(slog.NewTextHandler(&log, nil)))
	for i, s := range []step{
		{lost, 503, "not ready: redis: read tcp 127.0.0.1:41234: timeout\n", "not ready"},
		{errors.New("read tcp 127.0.0.1:41235: timeout"), 503, "not ready: redis: read tcp 127.0.0.1:41235: timeout\n", ""},
		{denied, 503, "not ready: redis: guard.peek: nothing ran: WRONGPASS\n", "not ready"},
		{denied, 503, "not ready: redis: guard.peek: nothing ran: WRONGPASS\n", ""},
		{missing, 503, "not ready: redis: guard.peek: guard_v1 is not loaded on this server, or in a version without this function; run `rlfunc deploy`\n", "not ready"},
		{nil, 200, "ok\n", "ready"},
		{nil, 200, "ok\n", ""},
		{missing, 200, "ok, but failure modes decide: redis: guard.peek: guard_v1 is not loaded on this server, or in a version without this function; run `rlfunc deploy`\n", "ready, but failure modes decide"},
		{nil, 200, "ok\n", "ready"},
	} {
		log.Reset()
		r.answered(s.err)
		w := httptest.NewRecorder()
		r.ServeHTTP(w, nil)
		got := step{s.err, w.Code, w.Body.String(), ""}
		if m := message.FindStringSubmatch(log.String()); m != nil {
			got.log = m[1] + m[2]
		}
		if got != s {
			t.Errorf("step %d: %+v, want %+v", i+1, got, s)
		}
	}
}

func TestRejectEmpty(t *testing.T) {
	const limited, unlimited = "endpoints: [{name: a, limits: [{name: b, limit: 1, window: 1m}]}]", "endpoints: [{name: a, unbounded: true}]"
	for _, c := range []struct {
		old, replacement string
		rejected         bool
	}{
		{limited, "version: 1", true},
		{unlimited, "version: 1", true},
		{"limits: [{name: b, limit: 1, window: 1m}]", "version: 1", true},
		{limited, "unmatched: refuse", false},
		{limited, unlimited, false},
		{"version: 1", "version: 1", false},
	} {
		var both [2]*policy.Policy
		for i, text := range []string{c.old, c.replacement} {
			var err error
			if both[i], err = policy.Parse("limits.yaml", []byte(text)); err != nil {
				t.Fatal(err)
			}
		}
		if err := rejectEmpty(both[0], both[1]); (err != nil) != c.rejected {
			t.Errorf("%s after %s: %v", c.replacement, c.old, err)
		}
	}
}
