package loader_test

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/counting"
)

// hangUp is an answer that closes the connection.
const hangUp = counting.HangUp

// A fakeServer gives answers that a test cannot provoke from a real server.
type fakeServer struct {
	addr   string
	answer func(command string, args []string) string

	mu       sync.Mutex
	commands []string // all but those of go-redis's own greeting
}

// newFakeServer answers with RESP text; a command is its first word, and of FUNCTION its first two.
func newFakeServer(t *testing.T, answer func(command string, args []string) string) *fakeServer {
	t.Helper()
	s := &fakeServer{answer: answer}
	s.addr = counting.Listen(t, s.serve)
	return s
}

func (s *fakeServer) serve(c net.Conn) {
	var queue [][]string
	multi := false
	counting.Serve(c, func(args []string) string {
		command := commandOf(args)
		if command != "CLIENT" {
			s.mu.Lock()
			s.commands = append(s.commands, command)
			s.mu.Unlock()
		}
		switch {
		case command == "MULTI":
			multi, queue = true, nil
			return "+OK\r\n"
		case command == "EXEC":
			multi = false
			return s.exec(queue)
		case multi:
			queue = append(queue, args)
			return "+QUEUED\r\n"
		}
		return s.answer(command, args)
	})
}

func (s *fakeServer) exec(queue [][]string) string {
	all := "*" + strconv.Itoa(len(queue)) + "\r\n"
	for _, args := range queue {
		answer := s.answer(commandOf(args), args)
		if answer == hangUp {
			return hangUp
		}
		all += answer
	}
	return all
}

func commandOf(args []string) string {
	command := strings.ToUpper(args[0])
	if command == "FUNCTION" {
		command += " " + strings.ToUpper(args[1])
	}
	return command
}

// served returns the commands so far.
func (s *fakeServer) served() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.commands...)
}

func bulk(s string) string { return "$" + strconv.Itoa(len(s)) + "\r\n" + s + "\r\n" }

// answers returns the handler of a Redis with the given INFO and the given answers to commands. It stores hashes.
func answers(info string, special map[string]string) func(string, []string) string {
	var mu sync.Mutex
	fields := map[string][]string{}
	return func(command string, args []string) string {
		mu.Lock()
		defer mu.Unlock()
		if answer, ok := special[command]; ok {
			return answer
		}
		switch command {
		case "INFO":
			return bulk(info)
		case "TIME":
			return "*2\r\n" + bulk("1763706467") + bulk("137146")
		case "HGETALL":
			all := ""
			for _, field := range fields[args[1]] {
				all += bulk(field)
			}
			return fmt.Sprintf("*%d\r\n%s", len(fields[args[1]]), all)
		case "HSET":
			fields[args[1]] = append(fields[args[1]], args[2:]...)
			return ":1\r\n"
		case "LRANGE":
			return "*0\r\n"
		case "HDEL", "RPUSH", "INCR":
			return ":1\r\n"
		case "FUNCTION LIST":
			return "*0\r\n"
		case "FUNCTION LOAD":
			if args[len(args)-1] == "" {
				return "-ERR Missing library metadata\r\n"
			}
		}
		return "+OK\r\n"
	}
}

// impatient returns a client without retries.
func impatient(t *testing.T, addr string) *redis.Client {
	t.Helper()
	c := redis.NewClient(&redis.Options{Addr: addr, MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true})
	t.Cleanup(func() { c.Close() })
	return c
}
