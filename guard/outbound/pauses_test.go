package outbound_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard/outbound"
)

// The pause after a response, as APIs send them. Their clock is 40 s behind that of this process, which is 2000-01-01T00:00:00Z at first.
func TestTransport_pauses(t *testing.T) {
	const date = "Fri, 31 Dec 1999 23:59:20 GMT"
	for name, c := range map[string]struct {
		status int
		header string // a line each
		want   time.Duration
	}{
		"Retry-After in seconds":             {429, "Retry-After: 20", 20 * time.Second},
		"Retry-After with decimals":          {429, "Retry-After: 1.5", 1500 * time.Millisecond},
		"Retry-After as a date":              {503, "Retry-After: Fri, 31 Dec 1999 23:59:50 GMT", 30 * time.Second},
		"Retry-After as a date, no Date":     {503, "Date: \nRetry-After: Sat, 01 Jan 2000 00:00:50 GMT", 50 * time.Second},
		"Retry-After that has passed":        {503, "Retry-After: Fri, 31 Dec 1999 23:59:10 GMT", 0},
		"Retry-After of another meaning":     {202, "Retry-After: 20", 0},
		"milliseconds":                       {429, "Retry-After-Ms: 250", 250 * time.Millisecond},
		"many milliseconds":                  {429, "Retry-After-Ms: 20000\nRetry-After: 21", 20 * time.Second},
		"429 that says nothing, as Stripe's": {429, "Stripe-Rate-Limited-Reason: global-rate", time.Second},
		"503 that says nothing":              {503, "", 0},
		"draft 11":                           {200, `RateLimit: "burst";r=0;t=30, "daily";r=999;t=40000`, 30 * time.Second},
		"draft 11, something remains":        {200, `RateLimit: "burst";r=1;t=30`, 0},
		"draft 11, on two lines":             {200, "RateLimit: \"a,;\\\"b\";r=5;t=9\nRateLimit: \"daily\"; r=0; t=60;pk=:dGVzdA==:", time.Minute},
		"draft 7":                            {200, "RateLimit: limit=100, remaining=0, reset=25", 25 * time.Second},
		"draft 6":                            {200, "RateLimit-Limit: 100, 100;w=60\nRateLimit-Remaining: 0\nRateLimit-Reset: 45", 45 * time.Second},
		"draft 6, something remains":         {200, "RateLimit-Remaining: 3\nRateLimit-Reset: 45", 0},
		"GitHub":                             {403, "X-RateLimit-Limit: 5000\nX-RateLimit-Remaining: 0\nX-RateLimit-Used: 5000\nX-RateLimit-Reset: 946685060\nX-RateLimit-Resource: core", 300 * time.Second},
		"GitHub's secondary limits":          {403, "X-RateLimit-Remaining: 4999\nX-RateLimit-Reset: 946688360\nRetry-After: 60", time.Minute},
		"a reset in milliseconds":            {200, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 946684780500", 20500 * time.Millisecond},
		"a reset with decimals":              {200, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 946684780.5", 20500 * time.Millisecond},
		"a reset in seconds":                 {200, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 15", 15 * time.Second},
		"OpenAI":                             {200, "X-RateLimit-Remaining-Requests: 59\nX-RateLimit-Reset-Requests: 1s\nX-RateLimit-Remaining-Tokens: 0\nX-RateLimit-Reset-Tokens: 6m0s", 6 * time.Minute},
		"OpenAI, requests":                   {200, "X-RateLimit-Remaining-Requests: 0\nX-RateLimit-Reset-Requests: 20ms", 20 * time.Millisecond},
		"Anthropic":                          {200, "Anthropic-Ratelimit-Requests-Remaining: 0\nAnthropic-Ratelimit-Requests-Reset: 2000-01-01T00:00:00Z", 40 * time.Second},
		"Anthropic, output tokens":           {429, "Anthropic-Ratelimit-Output-Tokens-Remaining: 0\nAnthropic-Ratelimit-Output-Tokens-Reset: 1999-12-31T23:59:35+00:00\nRetry-After: 12", 15 * time.Second},

		"two lines, the longest counts":    {429, "Retry-After: 1\nRetry-After: 30", 30 * time.Second},
		"two lines that a proxy joined":    {429, "Retry-After: 1, 30", 30 * time.Second},
		"milliseconds that are less":       {429, "Retry-After-Ms: 100\nRetry-After: 30", 30 * time.Second},
		"Retry-After as a time since 1970": {503, "Retry-After: 946684790", 30 * time.Second},
		"Retry-After as ISO 8601":          {503, "Retry-After: 1999-12-31T23:59:50Z", 30 * time.Second},
		"Retry-After as a duration":        {429, "Retry-After: 30s", 30 * time.Second},
		"a relative of Retry-After":        {429, "X-RateLimit-Retry-After: 12", 12 * time.Second},
		"a response that a cache kept":     {429, "Date: \nDate: Fri, 31 Dec 1999 22:59:20 GMT\nAge: 3600\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: 946684790", 30 * time.Second},
		"500 that asks to wait":            {500, "Retry-After: 3", 3 * time.Second},
		"404 that asks to wait":            {404, "Retry-After: 3", 3 * time.Second},
		"nothing remains, with decimals":   {200, "X-RateLimit-Remaining: 0.0\nX-RateLimit-Reset: 30", 30 * time.Second},
		"nothing remains, with a window":   {200, "RateLimit-Remaining: 0;w=60\nRateLimit-Reset: 30", 30 * time.Second},
		"less than nothing remains":        {200, "X-RateLimit-Remaining: -3\nX-RateLimit-Reset: 30", 30 * time.Second},
		"a reset with days":                {200, "X-RateLimit-Remaining-Tokens: 0\nX-RateLimit-Reset-Tokens: 1d2h3m", time.Hour},
		"a reset of no days":               {200, "X-RateLimit-Remaining-Tokens: 0\nX-RateLimit-Reset-Tokens: 0d0h1m3.5s", 63500 * time.Millisecond},
		"a reset as ISO 8601's duration":   {200, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: PT1M30S", 90 * time.Second},
		"a reset as a date":                {200, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: Fri, 31 Dec 1999 23:59:50 GMT", 30 * time.Second},
		"a reset with a time zone":         {200, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 2000-01-01T00:59:50+01:00", 30 * time.Second},
		"a limit of its own name":          {200, "X-RateLimit-Remaining-Images: 0\nX-RateLimit-Reset-Images: 20", 20 * time.Second},

		"a year":                  {429, "Retry-After: 31536000", time.Hour},
		"a date far ahead":        {503, "Retry-After: Fri, 31 Dec 9999 23:59:59 GMT", time.Hour},
		"more than a number has":  {429, "Retry-After: 99999999999999999999999999", time.Hour},
		"more than a float has":   {503, "Retry-After: 1e400", time.Hour},
		"infinite":                {503, "Retry-After: Inf", time.Hour},
		"infinite milliseconds":   {503, "Retry-After-Ms: 1e400", time.Hour},
		"a date in UTC":           {503, "Retry-After: Fri, 31 Dec 1999 23:59:50 UTC", 30 * time.Second},
		"a date of another zone":  {503, "Retry-After: Fri, 31 Dec 1999 15:59:50 -0800", 0},
		"a date of the year 0":    {503, "Retry-After: Fri, 31 Dec 0000 23:59:50 GMT", 0},
		"a reset far ahead":       {200, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 1e300", time.Hour},
		"a reset in nanoseconds":  {200, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 946684780500000000", time.Hour},
		"a reset that has passed": {200, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: 946684000", 0},
		"a reset not a number":    {200, "X-RateLimit-Remaining: 0\nX-RateLimit-Reset: NaN", 0},
		"a Date far away":         {503, "Date: Fri, 31 Dec 9999 23:59:59 GMT\nRetry-After: Fri, 31 Dec 1999 23:59:50 GMT", 0},
		"fields that differ":      {429, "Retry-After: 5\nRetry-After: 50\nRateLimit: \"a\";r=0;t=9\nRateLimit: \"a\";r=7;t=90\nX-RateLimit-Remaining: 0\nX-RateLimit-Remaining: 8\nX-RateLimit-Reset: 7", 50 * time.Second},
		"1 MB":                    {200, "RateLimit: \"a\";r=0;t=30;x=" + strings.Repeat("y", 1<<20), 0},
		"negative":                {503, "Retry-After: -20", 0},
		"not a number":            {503, "Retry-After: NaN", 0},
		"garbage":                 {503, "Retry-After: soon\nRateLimit: ;;;=\"\nX-RateLimit-Remaining: 0\nX-RateLimit-Reset: \x7f\nAnthropic-Ratelimit-Tokens-Remaining: 0\nAnthropic-Ratelimit-Tokens-Reset: tomorrow", 0},
		"an unclosed string":      {200, `RateLimit: "burst;r=0;t=30`, 0},
		"thousands of members":    {200, "RateLimit: " + strings.Repeat(`"a";r=1;t=1,`, 5000) + `"b";r=0;t=30`, 0},
		"thousands of lines":      {200, strings.Repeat("RateLimit: \"a\";r=1;t=1\n", 5000) + `RateLimit: "b";r=0;t=30`, 0},
	} {
		t.Run(name, func(t *testing.T) {
			h := http.Header{"Date": {date}}
			for line := range strings.Lines(c.header) {
				key, value, _ := strings.Cut(strings.TrimRight(line, "\n"), ": ")
				if key == "Date" {
					h.Del(key)
				}
				h.Add(key, value)
			}
			first := true
			o := outbound.Options{Base: base(func(*http.Request) *http.Response {
				if !first {
					return respond(200)
				}
				first = false
				return &http.Response{StatusCode: c.status, Header: h}
			})}
			u := example()
			u.MaxWait = new(2 * time.Hour)
			virtually(t, u, o, func(t *testing.T, x *fixture) {
				if _, err := x.get(t, "http://api.example.com/v1/"); err != nil {
					t.Fatal(err)
				}
				start := time.Now()
				if _, err := x.get(t, "http://api.example.com/v1/"); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took < c.want || took > c.want+50*time.Millisecond {
					t.Errorf("paused for %s, want %s", took, c.want)
				}
			})
		})
	}
}
