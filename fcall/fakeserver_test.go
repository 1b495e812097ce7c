package fcall_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/rlfunc/rlfunc/internal/counting"
)

// hangUp is an answer that closes the connection.
const hangUp = counting.HangUp

// A fakeServer answers FCALL and FCALL_RO from a script, whose last answer repeats.
type fakeServer struct {
	addr string

	mu      sync.Mutex
	answers []string
	calls   int
}

func newFakeServer(t testing.TB, answers ...string) *fakeServer {
	t.Helper()
	s := &fakeServer{answers: answers}
	s.addr = counting.NewServer(t, s.reply)
	return s
}

func (s *fakeServer) reply(words []string) string {
	if !strings.HasPrefix(strings.ToUpper(words[0]), "FCALL") {
		return "+OK\r\n"
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	answer := s.answers[0]
	if len(s.answers) > 1 {
		s.answers = s.answers[1:]
	}
	return answer
}

// answer replaces the script.
func (s *fakeServer) answer(answers ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answers = answers
}

func (s *fakeServer) served() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}
