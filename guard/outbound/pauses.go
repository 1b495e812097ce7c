package outbound

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// An ask is what a response asks for: that an account, or what of it the response names, is not used for some time.
type ask struct {
	name string // of a part of the account; "" is all of it
	wait time.Duration
}

// unnamedPause is the pause after a 429 that names none, as Stripe's: https://docs.stripe.com/rate-limits
const unnamedPause = time.Second

// An answer is what a response tells about limits.
type answer struct {
	http.Header
	refuses bool
	at      time.Time // its time by the upstream's own clock
	names   []string  // of what its limits hold for, whether they are used up or not
	asks    []ask
}

// answerOf reads a response, as docs/reference/outbound.md lists. endpoint is the request's, which has a limit of its own at some APIs.
func answerOf(response *http.Response, endpoint string, now time.Time) *answer {
	a := &answer{Header: response.Header, refuses: response.StatusCode >= 400, at: now}
	if date, err := http.ParseTime(a.Get("Date")); err == nil {
		a.at = date.Add(number(a.Get("Age"), time.Second)) // a cache may have kept it
	}
	part := cmp.Or(a.Get("X-Ratelimit-Resource"), a.Get("X-Ratelimit-Bucket"))
	if a.Get("X-Ratelimit-Scope") == "global" || a.Get("X-Ratelimit-Global") == "true" {
		part = ""
	}
	a.name(part)
	for key := range a.Header {
		if remaining := strings.Contains(key, "Remaining") && (isOfLimit(key) || strings.HasPrefix(key, "Anthropic-")); remaining && a.exhausted(key) {
			a.ask(part, a.reset(key))
		}
	}
	if slices.ContainsFunc(a.Values("X-Shopify-Shop-Api-Call-Limit"), isFull) {
		a.ask(part, unnamedPause)
	}
	a.drafts()
	if a.refuses {
		a.refusal(response, part, endpoint)
	}
	return a
}

// refusal reads how long a response that refuses asks to wait, and what for. part is what its fields name.
func (a *answer) refusal(response *http.Response, part, endpoint string) {
	reason := a.Get("Stripe-Rate-Limited-Reason")
	switch {
	case len(a.asks) > 0: // what is used up is what refuses
		part = a.asks[0].name
	case strings.HasPrefix(reason, "endpoint"), strings.HasPrefix(reason, "resource"):
		part = endpoint
	case part != "" && a.Get("X-Ratelimit-Remaining") != "" && a.Get("X-Ratelimit-Scope") == "": // another limit refuses, such as GitHub's secondary ones
		part = ""
	case part == "" && len(a.names) == 1:
		part = a.names[0]
	}
	a.ask(part, a.retryAfter())
	status := response.StatusCode
	if len(a.asks) == 0 && (status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable) {
		a.ask(endpoint, inBody(response, a.at))
	}
	if len(a.asks) > 0 || status != http.StatusTooManyRequests {
		return
	}
	for key := range a.Header { // of a limit whose rest it does not tell
		if isOfLimit(key) && strings.Contains(key, "Reset") && len(a.Values(strings.Replace(key, "Reset", "Remaining", 1))) == 0 {
			a.ask(part, a.longest(key, time.Second))
		}
	}
	if len(a.asks) == 0 {
		a.ask(part, unnamedPause)
	}
}

// isOfLimit reports whether a field is of a rate limit, such as X-RateLimit-Reset, X-Rate-Limit-Reset or Anthropic-RateLimit-Tokens-Reset.
func isOfLimit(key string) bool {
	return strings.Contains(key, "Ratelimit") || strings.Contains(key, "Rate-Limit")
}

func (a *answer) name(name string) {
	if name != "" && !slices.Contains(a.names, name) {
		a.names = append(a.names, name)
		slices.Sort(a.names)
	}
}

func (a *answer) ask(name string, wait time.Duration) {
	if wait > 0 {
		a.asks = append(a.asks, ask{name, wait})
	}
}

// longest returns the longest wait of all values of a field; 0 for "now", and for what it cannot read.
func (a *answer) longest(key string, unit time.Duration) (wait time.Duration) {
	for _, line := range a.Values(key) {
		if d := until(line, unit, a.at); d != 0 {
			wait = max(wait, d)
			continue
		}
		for _, part := range strings.SplitN(line, ",", 100) { // lines that a proxy joined
			wait = max(wait, until(part, unit, a.at))
		}
	}
	return min(wait, MaxPause)
}

// exhausted reports whether a field says that nothing remains, such as 0, 0.0 or 0;w=60.
func (a *answer) exhausted(key string) bool {
	return slices.ContainsFunc(a.Values(key), func(text string) bool {
		text, _, _ = strings.Cut(text, ";")
		return isNone(text)
	})
}

// isNone reports whether a number is 0 or less.
func isNone(text string) bool {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	return err == nil && n <= 0
}

// reset returns the wait of the field that belongs to one with what remains: X-RateLimit-Reset-After or X-RateLimit-Reset.
func (a *answer) reset(remaining string) time.Duration {
	if d := a.longest(strings.Replace(remaining, "Remaining", "Reset-After", 1), time.Second); d > 0 {
		return d
	}
	return a.longest(strings.Replace(remaining, "Remaining", "Reset", 1), time.Second)
}

// isFull reads 40/40 of a leaky bucket.
func isFull(text string) bool {
	used, limit, ok := strings.Cut(text, "/")
	n, err := strconv.Atoi(used)
	most, wrong := strconv.Atoi(limit)
	return ok && err == nil && wrong == nil && n >= most
}

// retryAfter returns the longest wait of Retry-After and its relatives, such as X-Ms-Retry-After-Ms. Milliseconds are the exact form of seconds that
// were rounded up from them.
func (a *answer) retryAfter() time.Duration {
	var wait, exact time.Duration
	for key := range a.Header {
		switch {
		case !strings.HasSuffix(key, "Retry-After-Ms") && !strings.HasSuffix(key, "Retry-After"):
		case strings.HasSuffix(key, "-Ms"):
			exact = max(exact, a.longest(key, time.Millisecond))
		default:
			wait = max(wait, a.longest(key, time.Second))
		}
	}
	if exact > 0 && wait <= exact+time.Second {
		return exact
	}
	return wait
}

const maxField = 4096 // bytes of a field that are read

// drafts read RateLimit: "burst";r=0;t=30, and RateLimit: limit=10, remaining=0, reset=30 of earlier drafts:
// https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/
func (a *answer) drafts() {
	for _, member := range split(strings.Join(a.Values("Ratelimit-Policy"), ","), ',') {
		if name, ok := quoted(member); ok {
			a.name(name)
		}
	}
	values := map[string]string{} // of a dictionary
	for _, member := range split(strings.Join(a.Values("Ratelimit"), ","), ',') {
		params := map[string]string{}
		for _, param := range split(member, ';') {
			name, value, _ := strings.Cut(strings.TrimSpace(param), "=")
			params[name], values[name] = value, value
		}
		name, _ := quoted(member)
		a.name(name)
		if isNone(params["r"]) {
			a.ask(name, number(params["t"], time.Second))
		}
	}
	if isNone(values["remaining"]) {
		a.ask("", min(until(values["reset"], time.Second, a.at), MaxPause))
	}
}

// quoted returns the string with which a member begins.
func quoted(member string) (text string, ok bool) {
	text, ok = strings.CutPrefix(strings.TrimSpace(split(member, ';')[0]), `"`)
	return strings.TrimSuffix(text, `"`), ok
}

// split splits a structured field (RFC 9651) at a separator outside of its strings.
func split(text string, separator rune) []string {
	if len(text) > maxField {
		return nil
	}
	quoted, escaped := false, false
	return strings.FieldsFunc(text, func(c rune) bool {
		if c == '"' && !escaped {
			quoted = !quoted
		}
		escaped = quoted && c == '\\' && !escaped
		return c == separator && !quoted
	})
}

// number reads a number of units of time, which may have decimals; 0 if it is none.
func number(text string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(n) || n <= 0 {
		return 0
	}
	return time.Duration(min(n, float64(MaxPause)/float64(unit)) * float64(unit))
}

const (
	epoch   = 1e8     // is above any number of seconds to wait, and below any time in seconds since 1970
	days    = 1 << 20 // that a duration may have
	maxTime = 64      // bytes of a time
)

// until reads a wait: a number of units, a time in seconds or milliseconds since 1970, each with or without decimals, a date of HTTP or ISO 8601, or a duration
// such as 1d2h3m, 6m0s or PT30S. It is 0 for what it cannot read, and negative for a time that has passed.
func until(text string, unit time.Duration, at time.Time) time.Duration {
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseFloat(text, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		if !(n >= epoch) || unit < time.Second && n < epoch*1000 {
			return number(text, unit)
		}
		if n < epoch*1000 {
			n *= 1000
		}
		return time.UnixMilli(int64(min(n, math.MaxInt64/2))).Sub(at)
	}
	if text == "" || len(text) > maxTime {
		return 0
	}
	if t, err := http.ParseTime(strings.Replace(text, "UTC", "GMT", 1)); err == nil { // which is what some servers write
		return t.Sub(at)
	}
	for _, form := range []string{time.RFC3339, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04:05Z0700", "2006-01-02T15:04:05", time.DateTime} {
		if t, err := time.Parse(form, text); err == nil {
			return t.Sub(at)
		}
	}
	text = strings.ToLower(strings.NewReplacer("P", "", "T", "", " ", "").Replace(text))
	before, rest, ok := strings.Cut(text, "d")
	if !ok {
		before, rest = "0", text
	}
	n, err := strconv.ParseFloat(before, 64)
	d, wrong := time.ParseDuration(cmp.Or(rest, "0s"))
	if err != nil || wrong != nil || !(n >= 0 && n < days) {
		return 0
	}
	return time.Duration(min(n*24, float64(MaxPause/time.Hour))*float64(time.Hour)) + min(d, MaxPause)
}

// wait is how bodies tell a wait, as Gemini's and Discord's do: https://ai.google.dev/gemini-api/docs/rate-limits
var waitInBody = regexp.MustCompile(`"(?:retryDelay|retry_after|retryAfter)"\s*:\s*"?([0-9][0-9A-Za-z.:+-]*)"?`)

// inBody reads the wait that the JSON of a response tells. The body can still be read.
func inBody(response *http.Response, at time.Time) time.Duration {
	if response.Body == nil || !strings.Contains(response.Header.Get("Content-Type"), "json") || response.Header.Get("Content-Encoding") != "" {
		return 0
	}
	body := response.Body
	late := time.AfterFunc(maxDrain, func() { _ = body.Close() })
	text, _ := io.ReadAll(io.LimitReader(body, maxDrained)) // who reads on gets the error again
	late.Stop()
	response.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(text), body), body}
	if found := waitInBody.FindSubmatch(text); found != nil {
		return min(until(string(found[1]), time.Second, at), MaxPause)
	}
	return 0
}
