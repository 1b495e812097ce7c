package steps_test

import (
	"bufio"
	"fmt"
	"net"
	"regexp"
	"strconv"
	"strings"
	"testing"

	luatest "github.com/rlfunc/rlfunc/lua_test"
)

// An effort is what calls had the server do: commands, and the bytes of those that write, as a replica gets them.
type effort struct{ commands, bytes int }

func (e effort) atMost(o effort) effort {
	return effort{max(e.commands, o.commands), max(e.bytes, o.bytes)}
}

// An effortMeter measures efforts on one server. The embedded engine has no replicas: it counts commands only.
type effortMeter struct {
	server *luatest.Server
	lines  *bufio.Reader // what MONITOR prints; nil on the embedded engine
	mark   int
}

func newEffortMeter(t *testing.T, s *luatest.Server) *effortMeter {
	t.Helper()
	if s.Engine == "embedded" {
		return &effortMeter{server: s}
	}
	network := "tcp"
	if o := s.Redis.Options(); o.Network != "" {
		network = o.Network
	}
	conn, err := net.Dial(network, s.Redis.Options().Addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	m := &effortMeter{server: s, lines: bufio.NewReader(conn)}
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := m.lines.ReadString('\n'); err != nil || !strings.HasPrefix(line, "+OK") {
		t.Fatalf("MONITOR: %q, %v", line, err)
	}
	return m
}

var (
	calledLine    = regexp.MustCompile(`cmdstat_([a-z|_]+):calls=(\d+)`)
	monitoredLine = regexp.MustCompile(`\[\d+ lua\] (".*")`)
	writeCommands = map[string]bool{"SET": true, "ZADD": true, "PEXPIRE": true, "ZREMRANGEBYRANK": true, "UNLINK": true, "DEL": true}
)

// of measures what a function does; it makes one call.
func (m *effortMeter) of(t *testing.T, call func()) (e effort) {
	t.Helper()
	if m.lines == nil {
		before := m.called(t)
		call()
		return effort{commands: m.called(t) - before}
	}
	m.until(t, nil)
	call()
	e.commands++ // the clock, which is none where a test moves it
	m.until(t, func(line string) {
		found := monitoredLine.FindStringSubmatch(line)
		if found == nil {
			return
		}
		e.commands++
		args := strings.Split(found[1], `" "`)
		if writeCommands[strings.ToUpper(strings.Trim(args[0], `"`))] {
			e.bytes += len(fmt.Sprintf("*%d\r\n", len(args)))
			for _, arg := range args {
				arg = strings.Trim(arg, `"`)
				e.bytes += len(fmt.Sprintf("$%d\r\n%s\r\n", len(arg), arg))
			}
		}
	})
	return e
}

// until reads what MONITOR prints up to a new mark.
func (m *effortMeter) until(t *testing.T, visit func(line string)) {
	t.Helper()
	m.mark++
	mark := fmt.Sprintf("mark %d", m.mark)
	m.server.Do(t, "ECHO", mark)
	for {
		line, err := m.lines.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(line, strconv.Quote(mark)) {
			return
		}
		if visit != nil {
			visit(line)
		}
	}
}

func (m *effortMeter) called(t *testing.T) (sum int) {
	t.Helper()
	info, err := m.server.Redis.Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, found := range calledLine.FindAllStringSubmatch(info, -1) {
		if n, err := strconv.Atoi(found[2]); err == nil && found[1] != "info" && !strings.HasPrefix(found[1], "fcall") {
			sum += n
		}
	}
	return sum
}
