package telemetry

import (
	"context"
	"errors"
	"log/slog"

	"github.com/rlfunc/rlfunc/guard"
)

func (t *Telemetry) logDecided(ctx context.Context, e *guard.Event, s *series) {
	if err := failureOf(e); err != nil {
		t.logFailure(ctx, e, s, err)
	}
	switch {
	case e.Err != nil:
	case !e.Decision.Allowed:
		t.logRefusal(ctx, e, s)
	case t.logger.Enabled(ctx, slog.LevelDebug):
		t.logger.LogAttrs(ctx, slog.LevelDebug, "request allowed",
			slog.String("endpoint", s.key.endpoint), slog.String("subject", t.subject(e.Subject())),
			slog.Bool("duplicate", e.Decision.Duplicate), slog.Float64("duration", e.Duration.Seconds()))
	}
}

func (t *Telemetry) logRefusal(ctx context.Context, e *guard.Event, s *series) {
	if !t.logger.Enabled(ctx, slog.LevelWarn) {
		return
	}
	skipped, ok := s.refusals.sample(t.now())
	if !ok {
		return
	}
	t.logger.LogAttrs(ctx, slog.LevelWarn, "request refused",
		slog.String("endpoint", s.key.endpoint), slog.String("subject", t.subject(e.Subject())),
		slog.String("reason", string(s.key.reason)), slog.String("limit", s.key.limit), slog.String("refused", t.subject(e.Decision.Refused)),
		slog.Float64("retry_after", e.Decision.RetryAfter.Seconds()), slog.Bool("cached", e.Decision.Cached),
		slog.Int64("skipped", skipped))
}

func (t *Telemetry) logFailure(ctx context.Context, e *guard.Event, s *series, err error) {
	level := slog.LevelError
	if errors.Is(err, context.Canceled) {
		level = slog.LevelDebug // the client disconnected
	}
	if !t.logger.Enabled(ctx, level) {
		return
	}
	kind := kindOf(err)
	skipped, ok := t.samplers.of(samplerKey{s.key.endpoint, "error " + kind}).sample(t.now())
	if !ok {
		return
	}
	message, fallback := "request not decided", ""
	if e.Err == nil {
		message, fallback = "request decided without Redis", string(e.Decision.Fallback)
	}
	t.logger.LogAttrs(ctx, level, message,
		slog.String("endpoint", s.key.endpoint), slog.String("subject", t.subject(e.Subject())),
		slog.String("fallback", fallback), slog.String("kind", kind), slog.Any("error", err),
		slog.Int64("skipped", skipped))
}

func (t *Telemetry) logUndefined(ctx context.Context, endpoint, identity string) {
	if skipped, ok := t.samplers.of(samplerKey{why: "undefined"}).sample(t.now()); ok {
		t.logger.LogAttrs(ctx, slog.LevelWarn, "no limit counts a subject whose identity the policy does not define",
			slog.String("endpoint", endpoint), slog.String("identity", identity), slog.Int64("skipped", skipped))
	}
}

func (t *Telemetry) logBreaker(node string, open bool) {
	var at []any
	if node != "" {
		at = []any{"node", node}
	}
	if open {
		t.logger.Error("circuit breaker opened", at...)
	} else {
		t.logger.Info("circuit breaker closed", at...)
	}
}

func (t *Telemetry) logRefunded(ctx context.Context, subject string, err error) {
	if err == nil {
		return
	}
	if skipped, ok := t.samplers.of(samplerKey{why: "refund"}).sample(t.now()); ok {
		t.logger.LogAttrs(ctx, slog.LevelError, "charge not refunded; it counts until its window ends",
			slog.String("subject", t.subject(subject)), slog.String("kind", kindOf(err)), slog.Any("error", err),
			slog.Int64("skipped", skipped))
	}
}

func (t *Telemetry) logSettled(ctx context.Context, s guard.Settlement, err error) {
	if err != nil {
		if skipped, ok := t.samplers.of(samplerKey{why: "settle"}).sample(t.now()); ok {
			t.logger.LogAttrs(ctx, slog.LevelError, "reservation not settled; its estimate counts until its hold ends",
				slog.String("subject", t.subject(s.Subject)), slog.String("kind", kindOf(err)), slog.Any("error", err),
				slog.Int64("skipped", skipped))
		}
		return
	}
	if t.logger.Enabled(ctx, slog.LevelDebug) {
		t.logger.LogAttrs(ctx, slog.LevelDebug, "reservation ended",
			slog.String("subject", t.subject(s.Subject)), slog.String("outcome", s.Outcome),
			slog.Int64("actual_micros", int64(s.Actual)))
	}
}

func (t *Telemetry) logReloaded(err error) {
	if err != nil {
		t.logger.Error("policy not replaced; the old policy stays in use", slog.Any("error", err))
	} else {
		t.logger.Info("policy replaced")
	}
}

func (t *Telemetry) logShadowed(ctx context.Context, live *guard.Event, key comparedKey) {
	if key.live != key.shadow && t.logger.Enabled(ctx, slog.LevelDebug) {
		t.logger.LogAttrs(ctx, slog.LevelDebug, "shadow policy decided differently",
			slog.String("endpoint", key.endpoint), slog.String("subject", t.subject(live.Subject())),
			slog.String("live", key.live), slog.String("shadow", key.shadow))
	}
}
