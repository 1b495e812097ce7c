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
	missing := &fcall.NotLoadedError{Function: "guard.peek", Library: "guard_v1", Missing: true}
	message := regexp.MustCompile(`msg=(?:"(.*?)"|(\w+))`)
	var log bytes.Buffer
	r := newReadiness(health.NewServer(), slog.New(slog.NewTextHandler(&log, nil)))
	for i, s := range []step{
		{lost, 503, "not ready: redis: read tcp 127.0.0.1:41234: timeout\n", "not ready"},
		{errors.New("read tcp 127.0.0.1:41235: timeout"), 503, "not ready: redis: read tcp 127.0.0.1:41235: timeout\n", ""},
		{denied, 503, "not ready: redis: guard.peek: nothing ran: WRONGPASS\n", "not ready"},
		{denied, 503, "not ready: redis: guard.peek: nothing ran: WRONGPASS\n", ""},
		{missing, 503, "not ready: redis: guard.peek: guard_v1 is not loaded on this server; run `rlfunc deploy`\n", "not ready"},
		{nil, 200, "ok\n", "ready"},
		{nil, 200, "ok\n", ""},
		{missing, 200, "ok, but failure modes decide: redis: guard.peek: guard_v1 is not loaded on this server; run `rlfunc deploy`\n", "ready, but failure modes decide"},
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

// An answer of Redis beside the start of a drain does not end it.
func TestReadiness_drainsForGood(t *testing.T) {
	for range 20_000 {
		r := newReadiness(health.NewServer(), slog.New(slog.DiscardHandler))
		done := make(chan struct{})
		go func() {
			r.answered(nil)
			close(done)
		}()
		r.drain()
		<-done
		if r.ready {
			t.Fatal("ready while it drains")
		}
	}
}
