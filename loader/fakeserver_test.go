package loader_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// hangUp is an answer that closes the connection.
const hangUp = ""

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
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeServer{addr: l.Addr().String(), answer: answer}
	t.Cleanup(func() { l.Close() })
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
	var queue [][]string
	multi := false
	for {
		args, err := readCommand(r)
		if err != nil {
			return
		}
		command := commandOf(args)
		if command != "CLIENT" && (command != "HELLO" || len(args) == 1) {
			s.mu.Lock()
			s.commands = append(s.commands, command)
			s.mu.Unlock()
		}
		answer := ""
		switch {
		case command == "MULTI":
			answer, multi, queue = "+OK\r\n", true, nil
		case command == "EXEC":
			answer, multi = s.exec(queue), false
		case multi:
			answer, queue = "+QUEUED\r\n", append(queue, args)
		default:
			answer = s.answer(command, args)
		}
		if answer == hangUp {
			return
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
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

func readCommand(r *bufio.Reader) ([]string, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(line[1:]))
	if err != nil {
		return nil, err
	}
	args := make([]string, n)
	for i := range args {
		if line, err = r.ReadString('\n'); err != nil {
			return nil, err
		}
		size, err := strconv.Atoi(strings.TrimSpace(line[1:]))
		if err != nil {
			return nil, err
		}
		text := make([]byte, size+2)
		if _, err := io.ReadFull(r, text); err != nil {
			return nil, err
		}
		args[i] = string(text[:size])
	}
	return args, nil
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
		case "HELLO":
			return "-ERR unknown command 'HELLO'\r\n"
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
