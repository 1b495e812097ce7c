package telemetry_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metricnoop "go.opentelemetry.io/otel/metric/noop"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/telemetry"
)

// A journal holds the log output and the clock of the samplers.
type journal struct {
	bytes.Buffer
	now time.Time
}

func logged(t *testing.T, level slog.Level) (*telemetry.Telemetry, *journal) {
	t.Helper()
	j := &journal{now: time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)}
	exported, err := telemetry.New(telemetry.At(telemetry.Options{
		MeterProvider: metricnoop.NewMeterProvider(),
		Logger:        slog.New(slog.NewJSONHandler(&j.Buffer, &slog.HandlerOptions{Level: level})),
	}, func() time.Time { return j.now }))
	if err != nil {
		t.Fatal(err)
	}
	return exported, j
}

// records returns the records since the last call, without their times.
func (j *journal) records(t *testing.T) []map[string]any {
	t.Helper()
	var all []map[string]any
	for d := json.NewDecoder(&j.Buffer); d.More(); {
		var r map[string]any
		if err := d.Decode(&r); err != nil {
			t.Fatal(err)
		}
		delete(r, "time")
		all = append(all, r)
	}
	return all
}

func TestObserve_logsShowNoSubject(t *testing.T) {
	exported, j := logged(t, slog.LevelDebug)
	play(t, exported)
	text := j.String()
	levels := map[string]bool{}
	for _, r := range j.records(t) {
		levels[r["level"].(string)+" "+r["msg"].(string)] = true
	}
	want := []string{
		"DEBUG request allowed",
		"DEBUG reservation ended",
		"ERROR circuit breaker opened",
		"ERROR cost not recorded; the budgets lack it",
		"ERROR policy not replaced; the old policy stays in use",
		"ERROR request decided without Redis",
		"ERROR request not decided",
		"ERROR reservation not settled; its estimate counts until its hold ends",
		"INFO policy replaced",
		"WARN no limit counts a subject whose identity the policy does not define",
		"WARN request refused",
		"WARN usage unknown, so the estimate counts",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(levels))); diff != "" {
		t.Errorf("levels and messages (-want +got):\n%s", diff)
	}
	for _, whole := range []string{ada, bob, eve, mal, zoe, outer} {
		if name := whole[strings.IndexByte(whole, '=')+1:]; strings.Contains(text, name) {
			t.Errorf("the log shows the subject %s", whole)
		}
	}
}

func refusal(subject string, reason guard.Reason) guard.Decided {
	return guard.Decided{
		Request: guard.Request{Endpoint: "chat", Subjects: []string{subject}},
		Decision: &guard.Decision{
			Endpoint: "chat", Subject: subject, Reason: reason, Refused: outer, RetryAfter: 3500 * time.Millisecond,
			Limits: []guard.LimitState{{Name: "minute", RetryAfter: 3500 * time.Millisecond}},
		},
	}
}

func TestObserve_logOneRefusalPerSecond(t *testing.T) {
	exported, j := logged(t, slog.LevelInfo)
	many := func(n int, reason guard.Reason) {
		for range n {
			exported.Observe(t.Context(), refusal(ada, reason))
		}
	}
	record := func(reason, limit string, skipped float64) map[string]any {
		return map[string]any{
			"level": "WARN", "msg": "request refused", "endpoint": "chat", "subject": exported.Subject(ada), "reason": reason,
			"limit": limit, "refused": exported.Subject(outer), "retry_after": 3.5, "cached": false, "skipped": skipped,
		}
	}
	many(1000, guard.ReasonLimit)
	many(1, guard.ReasonBlocked) // another reason has a second of its own
	want := []map[string]any{record("limit", "minute", 0), record("blocked", "", 0)}
	if diff := cmp.Diff(want, j.records(t)); diff != "" {
		t.Errorf("the first second (-want +got):\n%s", diff)
	}
	j.now = j.now.Add(999 * time.Millisecond)
	many(1, guard.ReasonLimit)
	if got := j.records(t); got != nil {
		t.Errorf("later in the first second: %v", got)
	}
	j.now = j.now.Add(time.Millisecond)
	many(5, guard.ReasonLimit)
	if diff := cmp.Diff([]map[string]any{record("limit", "minute", 1000)}, j.records(t)); diff != "" {
		t.Errorf("the second second (-want +got):\n%s", diff)
	}
}

func TestObserve_logOneFailurePerSecond(t *testing.T) {
	exported, j := logged(t, slog.LevelInfo)
	lost := errors.New("connection reset by peer")
	for range 1000 {
		exported.Observe(t.Context(), guard.Decided{
			Request:  guard.Request{Endpoint: "chat", Subjects: []string{ada}},
			Decision: &guard.Decision{Endpoint: "chat", Subject: ada, Allowed: true, Fallback: guard.FallbackOpen, Cause: lost},
		})
		exported.Observe(t.Context(), guard.Refunded{Subject: ada, Err: lost})
		exported.Observe(t.Context(), guard.Refunded{Subject: ada})
	}
	want := []map[string]any{
		{
			"level": "ERROR", "msg": "request decided without Redis", "endpoint": "chat", "subject": exported.Subject(ada),
			"fallback": "open", "kind": "other", "error": "connection reset by peer", "skipped": 0.0,
		},
		{
			"level": "ERROR", "msg": "charge not refunded; it counts until its window ends", "subject": exported.Subject(ada),
			"kind": "other", "error": "connection reset by peer", "skipped": 0.0,
		},
	}
	if diff := cmp.Diff(want, j.records(t)); diff != "" {
		t.Errorf("1000 failures in a second (-want +got):\n%s", diff)
	}
}

func TestTelemetry_shortensSubjects(t *testing.T) {
	exported, _ := logged(t, slog.LevelInfo)
	for subject, want := range map[string]string{
		"ip=203.0.113.77": "ip=203....#", "fp=ab": "fp=...#", "ada@example.org": "ada@...#",
		"fingerprint=6f1c3b0a9d2e4f58": "fingerprint=6f1c...#", "tenant=abc+path=/v1/chat": "tenant=a...#",
		"key=\xff\xfe\xfd\xfc\xfb\xfa": "key=?...#", "no kind = here, as it is late": "no k...#",
	} {
		got := exported.Subject(subject)
		if head, ok := strings.CutSuffix(got, got[len(got)-12:]); !ok || head != want {
			t.Errorf("%q is shown as %q, want %q and 12 digits", subject, got, want)
		}
	}
	if got := exported.Subject(""); got != "" {
		t.Errorf("no subject is shown as %q", got)
	}
	if exported.Subject("ip=203.0.113.77") == exported.Subject("ip=203.0.113.78") {
		t.Error("two subjects have the same form")
	}
	other, _ := logged(t, slog.LevelInfo)
	if exported.Subject(ada) == other.Subject(ada) {
		t.Error("two processes without a key show the same form of a subject")
	}
}
