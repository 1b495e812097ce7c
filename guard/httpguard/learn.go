package httpguard

import (
	"cmp"
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// A dialect is a way in which responses tell when an account may be used again. It returns 0 for "now", and for what it cannot read. Names of fields
// are as net/http has them, so that looking them up costs nothing.
type dialect func(h http.Header, at time.Time) time.Duration

// asked are how a response that refuses says when to try again, the most exact first.
var asked = []dialect{
	retryAfterMillis, // https://github.com/openai/openai-python/blob/main/src/openai/_base_client.py
	retryAfter,       // https://www.rfc-editor.org/rfc/rfc9110#section-10.2.3
}

// exhausted are how any response says that nothing remains of a limit, and until when.
var exhausted = []dialect{
	draft11,   // https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/11/
	draft06,   // https://datatracker.ietf.org/doc/draft-ietf-httpapi-ratelimit-headers/06/
	gitHub,    // https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
	openAI,    // https://platform.openai.com/docs/guides/rate-limits
	anthropic, // https://docs.claude.com/en/api/rate-limits
}

// unnamedPause is the pause after a 429 that names none, as Stripe's: https://docs.stripe.com/rate-limits
const unnamedPause = time.Second

// pauseOf returns how long an account must not be used after a response; 0 if it may be used now. Times count by the upstream's own clock, which
// its Date tells, as far as there is one.
func pauseOf(response *http.Response, now time.Time) (pause time.Duration) {
	at := now
	if date := response.Header.Get("Date"); date != "" {
		if t, err := http.ParseTime(date); err == nil {
			at = t
		}
	}
	switch response.StatusCode {
	case http.StatusTooManyRequests, http.StatusForbidden, http.StatusServiceUnavailable, 529: // 403 is GitHub's, 529 Anthropic's
		for _, read := range asked {
			pause = cmp.Or(pause, max(read(response.Header, at), 0))
		}
	}
	for _, read := range exhausted {
		pause = max(pause, read(response.Header, at))
	}
	if pause == 0 && response.StatusCode == http.StatusTooManyRequests {
		return unnamedPause
	}
	return min(pause, guard.MaxPause)
}

// inUnits reads a number of units of time, which may have decimals; 0 if it is none.
func inUnits(text string, unit time.Duration) time.Duration {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil && !errors.Is(err, strconv.ErrRange) || math.IsNaN(n) || n <= 0 {
		return 0
	}
	return time.Duration(min(n, float64(guard.MaxPause/unit)) * float64(unit))
}

func seconds(text string) time.Duration { return inUnits(text, time.Second) }

// epoch is above any number of seconds to wait, and below any time in seconds or milliseconds since 1970.
const epoch = 1e8

// secondsOrEpoch reads a reset: seconds from now on, or a time in seconds or milliseconds since 1970. Each may have decimals.
func secondsOrEpoch(text string, at time.Time) time.Duration {
	if text == "" {
		return 0
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	switch {
	case err != nil || !(n >= epoch):
		return seconds(text)
	case n < epoch*1000:
		n *= 1000
	}
	return time.UnixMilli(int64(min(n, math.MaxInt64/2))).Sub(at)
}

func retryAfter(h http.Header, at time.Time) time.Duration {
	text := h.Get("Retry-After")
	if text == "" {
		return 0
	}
	if t, err := http.ParseTime(strings.Replace(text, "UTC", "GMT", 1)); err == nil { // which is what some servers write
		return t.Sub(at)
	}
	return seconds(text)
}

func retryAfterMillis(h http.Header, _ time.Time) time.Duration {
	return inUnits(h.Get("Retry-After-Ms"), time.Millisecond)
}

// draft11 reads RateLimit: "burst";r=0;t=30, and RateLimit: limit=10, remaining=0, reset=30 of earlier drafts.
func draft11(h http.Header, _ time.Time) (pause time.Duration) {
	var remaining, reset string
	for _, m := range members(h["Ratelimit"]) {
		switch {
		case m.params["r"] == "0":
			pause = max(pause, seconds(m.params["t"]))
		case m.name == "remaining":
			remaining = m.params[""]
		case m.name == "reset":
			reset = m.params[""]
		}
	}
	return max(pause, ifNothingRemains(remaining, seconds(reset)))
}

func draft06(h http.Header, at time.Time) time.Duration {
	return ifNothingRemains(h.Get("Ratelimit-Remaining"), secondsOrEpoch(h.Get("Ratelimit-Reset"), at))
}

// gitHub reads X-RateLimit-Reset, which is a time since 1970 there, and seconds elsewhere.
func gitHub(h http.Header, at time.Time) time.Duration {
	return ifNothingRemains(h.Get("X-Ratelimit-Remaining"), secondsOrEpoch(h.Get("X-Ratelimit-Reset"), at))
}

func ifNothingRemains(remaining string, pause time.Duration) time.Duration {
	if strings.TrimSpace(remaining) != "0" {
		return 0
	}
	return pause
}

// openAI reads X-RateLimit-Reset-Requests: 6m0s.
func openAI(h http.Header, _ time.Time) (pause time.Duration) {
	for _, of := range [][2]string{
		{"X-Ratelimit-Remaining-Requests", "X-Ratelimit-Reset-Requests"},
		{"X-Ratelimit-Remaining-Tokens", "X-Ratelimit-Reset-Tokens"},
	} {
		if remaining := h.Get(of[0]); remaining != "" {
			reset, _ := time.ParseDuration(h.Get(of[1])) // 0 with an error
			pause = max(pause, ifNothingRemains(remaining, reset))
		}
	}
	return pause
}

// anthropic reads Anthropic-RateLimit-Requests-Reset: 2026-11-28T19:00:00Z.
func anthropic(h http.Header, at time.Time) (pause time.Duration) {
	for _, of := range [][2]string{
		{"Anthropic-Ratelimit-Requests-Remaining", "Anthropic-Ratelimit-Requests-Reset"},
		{"Anthropic-Ratelimit-Tokens-Remaining", "Anthropic-Ratelimit-Tokens-Reset"},
		{"Anthropic-Ratelimit-Input-Tokens-Remaining", "Anthropic-Ratelimit-Input-Tokens-Reset"},
		{"Anthropic-Ratelimit-Output-Tokens-Remaining", "Anthropic-Ratelimit-Output-Tokens-Reset"},
	} {
		if remaining := h.Get(of[0]); remaining != "" {
			if reset, err := time.Parse(time.RFC3339, h.Get(of[1])); err == nil {
				pause = max(pause, ifNothingRemains(remaining, reset.Sub(at)))
			}
		}
	}
	return pause
}

// ratesOf returns the limits of requests that RateLimit-Policy or RateLimit-Limit tell: "burst";q=100;w=60, or 100;w=60.
func ratesOf(endpoint string, h http.Header) (rates []guard.Rate) {
	for _, m := range append(members(h["Ratelimit-Policy"]), members(h["Ratelimit-Limit"])...) {
		quota := m.params["q"]
		if quota == "" {
			quota = m.name // of earlier drafts
		}
		limit, err := strconv.ParseInt(quota, 10, 64)
		window, noWindow := strconv.ParseInt(m.params["w"], 10, 32) // so that it is a duration
		r := guard.Rate{Endpoint: endpoint, Limit: limit, Window: policy.OutboundWindow(time.Duration(window) * time.Second)}
		if unit := m.params["qu"]; err == nil && noWindow == nil && (unit == "" || unit == "requests") && r.Check() == nil {
			rates = append(rates, r)
		}
	}
	return rates
}

const (
	maxField   = 4096 // bytes of a field that are read
	maxMembers = 16
)

// A member is one of a structured field (RFC 9651), with what matters here: its name or number, and its parameters as text. The value of a
// dictionary's member is the parameter "".
type member struct {
	name   string
	params map[string]string
}

// members reads the members of a list or a dictionary. It ends at the first that it cannot read.
func members(lines []string) (all []member) {
	if len(lines) == 0 {
		return nil
	}
	text := strings.Join(lines, ",")
	if len(text) > maxField {
		return nil
	}
	for len(all) < maxMembers {
		m := member{params: map[string]string{}}
		var ok bool
		if m.name, text, ok = value(strings.TrimLeft(text, " \t")); !ok {
			break
		}
		for text != "" && (text[0] == ';' || text[0] == '=') {
			key := ""
			if text[0] == ';' {
				if key, text, ok = value(strings.TrimLeft(text[1:], " ")); !ok {
					return all
				}
			}
			v := "1" // true
			if text != "" && text[0] == '=' {
				if v, text, ok = value(text[1:]); !ok {
					return all
				}
			}
			m.params[key] = v
		}
		all = append(all, m)
		if text = strings.TrimLeft(text, " \t"); text == "" || text[0] != ',' {
			break
		}
		text = text[1:]
	}
	return all
}

// value reads a string, a token, a number or another bare item.
func value(text string) (v, rest string, ok bool) {
	if text != "" && text[0] == ':' { // bytes
		v, rest, ok = strings.Cut(text[1:], ":")
		return v, rest, ok
	}
	if text == "" || text[0] != '"' {
		end := strings.IndexAny(text, ",;= \t\"")
		if end < 0 {
			end = len(text)
		}
		return text[:end], text[end:], end > 0
	}
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return b.String(), text[i+1:], true
		case c == '\\' && i+1 < len(text):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(c)
		}
	}
	return "", "", false
}

// rates are limits that responses told, by account.
type rates struct {
	mu sync.Mutex
	by map[string]learned
}

type learned struct {
	rates []guard.Rate
	until time.Time
}

const (
	maxLearned = 1024      // accounts
	learnedFor = time.Hour // a limit that no response tells again
)

// learn stores what a response told of an account; a response that tells nothing changes nothing.
func (rs *rates) learn(subject string, told []guard.Rate) {
	if len(told) == 0 {
		return
	}
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.by == nil || len(rs.by) >= maxLearned {
		rs.by = map[string]learned{}
	}
	rs.by[subject] = learned{told, time.Now().Add(learnedFor)}
}

// of returns what was told of an account.
func (rs *rates) of(subject string) []guard.Rate {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if r, ok := rs.by[subject]; ok && time.Now().Before(r.until) {
		return r.rates
	}
	return nil
}
