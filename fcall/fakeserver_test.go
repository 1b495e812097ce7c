package fcall_test

import (
	"fmt"
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
	words   []string // the first word of each call
	// It knows scripts, which it answers well, and what answers says is of functions.
	functions bool
	info      string // its answer to INFO
}

func newFakeServer(t testing.TB, answers ...string) *fakeServer {
	t.Helper()
	s := &fakeServer{answers: answers}
	s.addr = counting.NewServer(t, s.reply)
	return s
}

func (s *fakeServer) reply(words []string) string {
	switch strings.ToUpper(words[0]) {
	case "INFO":
		return fmt.Sprintf("$%d\r\n%s\r\n", len(s.info), s.info)
	case "FCALL", "FCALL_RO", "EVALSHA", "EVAL":
		return s.nextAnswer(words[0])
	}
	return "+OK\r\n"
}

func (s *fakeServer) nextAnswer(word string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.words = append(s.words, word)
	if s.functions && !strings.HasPrefix(word, "FCALL") {
		return "*1\r\n:1\r\n"
	}
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

// said returns the first word of each call since its last call.
func (s *fakeServer) said() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	words := s.words
	s.words = nil
	return words
}

func (s *fakeServer) served() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}
