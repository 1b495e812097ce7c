// Package api is somebody else's API: it serves 60 requests and 40,000 tokens in any minute, and 5 requests at a time. Beyond that it answers 429.
package api

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// Limits of an account.
const (
	Requests = 60
	Tokens   = 40_000
	AtOnce   = 5
)

// A Server is the API. Its Minute may be shorter than one, to simulate long traffic.
type Server struct {
	Minute time.Duration

	mu      sync.Mutex
	running int
	last    []served // within a minute
	stats   Stats
}

type served struct {
	at     time.Time
	tokens int
}

// Stats are what a Server has done.
type Stats struct{ Served, Tokens, Refused int }

// Stats returns what it has done so far.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// ServeHTTP answers after 0.3 to 0.9 s of its minute. A request costs the tokens that its parameter tokens says.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	tokens, err := strconv.Atoi(r.FormValue("tokens"))
	if err != nil || tokens < 1 {
		http.Error(w, "tokens must be a number above 0", http.StatusBadRequest)
		return
	}
	if wait := s.admit(tokens); wait > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(wait/time.Second)+1))
		w.Header().Set("Retry-After-Ms", strconv.Itoa(int(wait/time.Millisecond)+1))
		http.Error(w, "too many requests", http.StatusTooManyRequests)
		return
	}
	time.Sleep(s.Minute * time.Duration(300+rand.IntN(600)) / 60_000)
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"usage":{"prompt_tokens":%d,"completion_tokens":%d}}`, tokens/2, tokens-tokens/2)
}

// admit returns how long a request must wait; 0 if it is served.
func (s *Server) admit(tokens int) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, total := time.Now(), tokens
	s.last = slices.DeleteFunc(s.last, func(one served) bool { return now.Sub(one.at) >= s.Minute })
	for _, one := range s.last {
		total += one.tokens
	}
	switch {
	case len(s.last) >= Requests || total > Tokens:
		s.stats.Refused++
		return s.last[0].at.Add(s.Minute).Sub(now)
	case s.running >= AtOnce:
		s.stats.Refused++
		return s.Minute / 60
	}
	s.running++
	s.last = append(s.last, served{now, tokens})
	s.stats.Served++
	s.stats.Tokens += tokens
	return 0
}
