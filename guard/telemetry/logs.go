package telemetry

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/guard"
)

func (t *Telemetry) logDecided(ctx context.Context, e *guard.Decided, s *series) {
	if e.Undefined != "" {
		if skipped, ok := t.samplers.of(samplerKey{why: "undefined"}).sample(t.now()); ok {
			t.logger.LogAttrs(ctx, slog.LevelWarn, "no limit counts a subject whose identity the policy does not define",
				slog.String("endpoint", s.key.endpoint), slog.String("identity", e.Undefined), slog.Int64("skipped", skipped))
		}
	}
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

func (t *Telemetry) logRefusal(ctx context.Context, e *guard.Decided, s *series) {
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

func (t *Telemetry) logFailure(ctx context.Context, e *guard.Decided, s *series, err error) {
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

// logNotEnded records at most once a second that a charge or reservation of a subject did not end.
func (t *Telemetry) logNotEnded(ctx context.Context, why, message, subject string, err error) {
	if skipped, ok := t.samplers.of(samplerKey{why: why}).sample(t.now()); ok {
		t.logger.LogAttrs(ctx, slog.LevelError, message,
			slog.String("subject", t.subject(subject)), slog.String("kind", kindOf(err)), slog.Any("error", err),
			slog.Int64("skipped", skipped))
	}
}

// A samplerKey selects the records that share a sampler.
type samplerKey struct{ endpoint, why string }

// A sampler selects the first record of each second.
type sampler struct {
	second  atomic.Int64
	skipped atomic.Int64
}

// sample reports whether to write a record, and how many were skipped since the last one.
func (s *sampler) sample(now time.Time) (skipped int64, ok bool) {
	second := now.Unix()
	last := s.second.Load()
	if second != last && s.second.CompareAndSwap(last, second) {
		return s.skipped.Swap(0), true
	}
	s.skipped.Add(1)
	return 0, false
}

func (t *Telemetry) subject(s string) string { return Shorten(t.key, s) }

// Shorten returns the form of a subject in records, such as "ip=203....#8f3a90c1d2e4": its identity, at most the first
// four bytes and a third of the value, and 48 bits of a keyed hash. Without the key, a reader of logs cannot find an address by
// trying all of them. For a combination it returns the first identity and the hash of the whole. "" stays "".
func Shorten(key []byte, s string) string {
	if s == "" {
		return ""
	}
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(s))
	hash := hex.EncodeToString(mac.Sum(nil)[:6])
	s, _, _ = strings.Cut(s, "+")
	identity := ""
	if i := strings.IndexByte(s, '='); i > 0 && isIdentity(s[:i]) {
		identity, s = s[:i+1], s[i+1:]
	}
	return strings.ToValidUTF8(identity+s[:min(4, len(s)/3)], "?") + "...#" + hash
}

// isIdentity reports whether text has the characters of an identity's name.
func isIdentity(text string) bool {
	const most = 32
	return len(text) <= most && strings.Trim(text, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}
