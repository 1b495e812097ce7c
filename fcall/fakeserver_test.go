package fcall_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// hangUp is an answer that closes the connection.
const hangUp = ""

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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeServer{addr: l.Addr().String(), answers: answers}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.serve(c)
		}
	}()
	return s
}

func (s *fakeServer) serve(c net.Conn) {
	defer c.Close()
	r := bufio.NewReader(c)
	for {
		words, err := readCommand(r)
		if err != nil {
			return
		}
		answer := "+OK\r\n"
		switch strings.ToUpper(words[0]) {
		case "HELLO":
			answer = "-ERR unknown command 'HELLO'\r\n"
		case "INFO":
			answer = fmt.Sprintf("$%d\r\n%s\r\n", len(s.info), s.info)
		case "FCALL", "FCALL_RO", "EVALSHA", "EVAL":
			if answer = s.nextAnswer(words[0]); answer == hangUp {
				return
			}
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
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

func readCommand(r *bufio.Reader) ([]string, error) {
	n, err := readLength(r, '*')
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := readLength(r, '$')
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	return words, nil
}

func readLength(r *bufio.Reader, mark byte) (int, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != mark {
		return 0, fmt.Errorf("want %c, got %q", mark, line)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}
