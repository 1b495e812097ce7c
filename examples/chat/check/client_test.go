package check

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// A client is one browser: it keeps its last fingerprint.
type client struct {
	service     *service
	address     string // that a proxy on loopback heard
	fingerprint string
	challenge   string
}

// An answer is the response that a client sees.
type answer struct {
	status     int
	code       string // of the problem body
	retryAfter int    // seconds; 0 without
	limits     string // RateLimit
	policy     string // RateLimit-Policy
	violated   []string
	body       struct {
		Answer         string
		Tokens         int64
		Duplicate      bool
		TokensLeft     int64 `json:"tokens_left"`
		TokensReserved int64 `json:"tokens_reserved"`
		Challenge      string
		Fingerprint    string
		Redis          string
	}
}

var browser = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}

func (c *client) send(ctx context.Context, method, path, body string, header ...string) (answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.service.url+path, strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	r.Header.Set("X-Forwarded-For", c.address)
	if c.fingerprint != "" {
		r.Header.Set("X-Fingerprint", c.fingerprint)
	}
	for i := 0; i < len(header); i += 2 { // before what is there
		r.Header[header[i]] = append([]string{header[i+1]}, r.Header[header[i]]...)
	}
	response, err := browser.Do(r)
	if err != nil {
		return answer{}, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return answer{}, err
	}
	a := answer{status: response.StatusCode, limits: response.Header.Get("RateLimit"), policy: response.Header.Get("RateLimit-Policy")}
	a.retryAfter, _ = strconv.Atoi(response.Header.Get("Retry-After"))
	var problem struct {
		Error    string
		Violated []string `json:"violated-policies"`
	}
	if a.status != http.StatusOK {
		err = json.Unmarshal(text, &problem)
		a.code, a.violated = problem.Error, problem.Violated
	} else if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		err = json.Unmarshal(text, &a.body)
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %d %q: %w", method, path, a.status, text, err)
	}
	return a, err
}

func (c *client) must(t *testing.T, method, path, body string, header ...string) answer {
	t.Helper()
	a, err := c.send(t.Context(), method, path, body, header...)
	if err != nil {
		t.Error(err)
	}
	return a
}

// renew gets a challenge, and with it a new fingerprint of the same subject.
func (c *client) renew(t *testing.T) answer {
	t.Helper()
	a := c.must(t, http.MethodPost, "/v1/challenge", "")
	if a.status == http.StatusOK {
		c.fingerprint, c.challenge = a.body.Fingerprint, a.body.Challenge
	}
	return a
}

// newClient returns a client with a challenge.
func (s *service) newClient(t *testing.T, address string) *client {
	t.Helper()
	c := &client{service: s, address: address}
	if a := c.renew(t); a.status != http.StatusOK {
		t.Fatalf("%s gets no challenge: %+v", address, a)
	}
	return c
}

// hash is the part of the fingerprint that stays.
func (c *client) hash() string {
	hash, _, _ := strings.Cut(strings.Split(c.fingerprint, ":")[2], ".")
	return hash
}

// ask asks the model with the challenge that the client has.
func (c *client) ask(t *testing.T, words, maxTokens int, header ...string) answer {
	t.Helper()
	return c.must(t, http.MethodPost, "/v1/chat", asks(words, maxTokens), header...)
}

// asks returns a question of a number of words.
func asks(words, maxTokens int) string {
	return fmt.Sprintf(`{"message": %q, "max_tokens": %d}`, strings.TrimSpace(strings.Repeat("why ", words)), maxTokens)
}

// outcome is status and code: "200", "429 blocked".
func (a answer) outcome() string {
	return strings.TrimSpace(strconv.Itoa(a.status) + " " + a.code)
}

// count sends n requests at once and counts their outcomes.
func count(n int, request func(i int) answer) map[string]int {
	var mu sync.Mutex
	var wg sync.WaitGroup
	got := map[string]int{}
	gate := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			<-gate
			a := request(i)
			mu.Lock()
			defer mu.Unlock()
			if a.body.Duplicate {
				got["duplicate"]++
			}
			got[a.outcome()]++
		})
	}
	close(gate)
	wg.Wait()
	return got
}
