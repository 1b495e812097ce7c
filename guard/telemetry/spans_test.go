package telemetry_test

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	metricnoop "go.opentelemetry.io/otel/metric/noop"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/telemetry"
)

func traced(t *testing.T) (*telemetry.Telemetry, *sdk.TracerProvider, *tracetest.SpanRecorder) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder))
	exported, err := telemetry.New(telemetry.Options{
		MeterProvider: metricnoop.NewMeterProvider(), TracerProvider: provider, Logger: slog.New(slog.DiscardHandler),
		SubjectKey: []byte("a key of the test"),
	})
	if err != nil {
		t.Fatal(err)
	}
	return exported, provider, recorder
}

// line returns a span's attributes by name, and its status.
func line(s sdk.ReadOnlySpan) string {
	attributes := map[string]string{}
	for _, kv := range s.Attributes() {
		attributes[strings.TrimPrefix(string(kv.Key), "rlfunc.")] = kv.Value.String()
	}
	words := []string{s.Name()}
	for _, key := range []string{"endpoint", "outcome", "reason", "limit", "fallback", "cached", "duplicate", "subject", "refused", "error.type", "db.stored_procedure.name"} {
		if v, ok := attributes[key]; ok {
			words = append(words, key+"="+v)
			delete(attributes, key)
		}
	}
	for key := range attributes {
		words = append(words, "unexpected "+key)
	}
	if s.Status().Code == codes.Error {
		words = append(words, "failed: "+s.Status().Description)
	}
	return strings.Join(words, " ")
}

func TestObserve_oneSpanPerDecision(t *testing.T) {
	exported, _, recorder := traced(t)
	play(t, exported)
	if begun, ended := len(recorder.Started()), len(recorder.Ended()); begun != ended {
		t.Errorf("%d spans begun, %d ended", begun, ended)
	}
	var got []string
	for _, s := range recorder.Ended() {
		got = append(got, line(s))
		for _, whole := range []string{ada, bob, eve, mal, zoe, outer} {
			if name := whole[strings.IndexByte(whole, '=')+1:]; strings.Contains(line(s), name) {
				t.Errorf("a span shows the subject %s: %s", whole, line(s))
			}
		}
	}
	const paid = "db.stored_procedure.name=guard_v1_admit"
	want := map[int]string{
		0:  "guard.decide endpoint=chat outcome=allowed cached=false duplicate=false subject=" + exported.Subject(ada) + " " + paid,
		1:  "guard.decide endpoint=chat outcome=allowed cached=false duplicate=true subject=" + exported.Subject(ada) + " " + paid,
		3:  "guard.decide endpoint=chat outcome=refused reason=limit limit=minute cached=false duplicate=false subject=" + exported.Subject(ada) + " refused=" + exported.Subject(ada) + " " + paid,
		4:  "guard.decide endpoint=chat outcome=refused reason=limit limit=minute cached=true duplicate=false subject=" + exported.Subject(ada) + " refused=" + exported.Subject(ada),
		18: "guard.decide endpoint=other outcome=error subject=" + exported.Subject(eve) + " error.type=endpoint failed: endpoint",
		19: "guard.decide endpoint=pay outcome=error subject=" + exported.Subject(zoe) + " error.type=state " + paid + " failed: state",
	}
	for i, w := range want {
		if i >= len(got) {
			t.Errorf("only %d spans", len(got))
		} else if diff := cmp.Diff(w, got[i]); diff != "" {
			t.Errorf("span %d (-want +got):\n%s", i, diff)
		}
	}
	all := strings.Join(got, "\n") + "\n" // the contracts come in any order
	for _, w := range []string{
		"endpoint=open outcome=allowed fallback=open cached=false duplicate=false subject=" + exported.Subject(ada) + " error.type=breaker\n",
		"endpoint=closed outcome=unavailable limit=minute subject=" + exported.Subject(ada) + " error.type=breaker failed: breaker",
	} {
		if !strings.Contains(all, w) {
			t.Errorf("no span %s in\n%s", w, all)
		}
	}
}

func TestObserve_spanIsChildOfTheRequest(t *testing.T) {
	exported, provider, recorder := traced(t)
	ctx, request := provider.Tracer("request").Start(t.Context(), "GET /chat")
	exported.Observe(ctx, guard.Decided{Request: guard.Request{Endpoint: "chat", Subjects: []string{ada}}, Duration: time.Second, Err: context.Canceled})
	request.End()
	ended := recorder.Ended()
	if len(ended) != 2 || ended[0].Parent().SpanID() != request.SpanContext().SpanID() {
		t.Fatalf("%d spans, and the decision's is not the child of the request's", len(ended))
	}
	if took := ended[0].EndTime().Sub(ended[0].StartTime()); took != time.Second {
		t.Errorf("the span of a decision of 1s took %v", took)
	}
}
