package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/rlfunc/rlfunc/guard"
)

// A spanKey is the context key of a Telemetry's own span, because other hooks may start spans within it.
type spanKey struct{ of *Telemetry }

func (t *Telemetry) deciding(ctx context.Context, _ *guard.Request) context.Context {
	ctx, span := t.tracer.Start(ctx, "guard.decide")
	if span.IsRecording() {
		ctx = context.WithValue(ctx, spanKey{t}, span)
	}
	return ctx
}

func (t *Telemetry) endSpan(ctx context.Context, e *guard.Event, s *series) {
	span, ok := ctx.Value(spanKey{t}).(trace.Span)
	if !ok {
		return
	}
	attributes := make([]attribute.KeyValue, 0, 11)
	attributes = append(attributes,
		endpointKey.String(s.key.endpoint), outcomeKey.String(s.key.outcome),
		subjectKey.String(t.subject(e.Subject())))
	if s.key.limit != "" {
		attributes = append(attributes, limitKey.String(s.key.limit))
	}
	if s.key.reason != guard.ReasonNone {
		attributes = append(attributes, reasonKey.String(string(s.key.reason)))
	}
	if e.Function != "" {
		attributes = append(attributes, procedureKey.String(e.Function))
	}
	if d := e.Decision; d != nil {
		attributes = append(attributes, cachedKey.Bool(d.Cached), duplicateKey.Bool(d.Duplicate))
		if d.Refused != "" {
			attributes = append(attributes, refusedKey.String(t.subject(d.Refused)))
		}
		if d.Fallback != guard.FallbackNone {
			attributes = append(attributes, fallbackKey.String(string(d.Fallback)))
		}
	}
	if err := failureOf(e); err != nil {
		kind := kindOf(err)
		attributes = append(attributes, errorKey.String(kind))
		if e.Err != nil {
			span.SetStatus(codes.Error, kind)
		}
	}
	span.SetAttributes(attributes...)
	span.End()
}
