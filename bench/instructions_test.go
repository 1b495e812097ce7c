package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/onpath"
	"github.com/rlfunc/rlfunc/internal/servers"
)

var update = flag.Bool("update", false, "rewrite the counts that the test holds the rows to")

const (
	countsFile = "testdata/instructions.txt"
	onServer   = "7.0.15" // the redis-server whose instructions stand there
	tolerance  = 0.03
)

// No row takes more instructions inside the server than when its count was written down. callgrind counts, so that other work on the
// machine does not matter. `go -C bench test -run Instructions -update` rewrites them.
func TestInstructions_areNoMoreThanWritten(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: servers are not started with -short")
	}
	for _, program := range []string{"valgrind", "callgrind_control", "redis-server"} {
		onpath.Program(t, program)
	}
	dir := t.TempDir()
	options := &redis.Options{}
	valgrind := filepath.Join(dir, "server")
	script := "#!/bin/sh\nexec valgrind --tool=callgrind --callgrind-out-file=" + dir + "/out --instr-atstart=no --collect-atstart=no " +
		"--toggle-collect=fcallCommand --toggle-collect=evalShaCommand redis-server \"$@\"\n"
	if err := os.WriteFile(valgrind, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	stop, err := launch(valgrind, dir, options)
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	options.ReadTimeout = -1
	srv := &server{client: redis.NewClient(options), network: options.Network, addr: options.Addr}
	defer srv.client.Close()
	if err := srv.prepare(t.Context(), false); err != nil {
		t.Fatal(err)
	}
	if srv.version != "Redis "+onServer {
		onpath.Lacking(t, "redis-server is %s, and the counts are those of %s", srv.version, onServer)
	}
	info, err := srv.client.Info(t.Context(), "server").Result()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := dial(srv.network, srv.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer pipe.conn.Close()
	peers, err := peerWorkloads(t.Context(), srv.client)
	if err != nil {
		t.Fatal(err)
	}
	all := append(workloads(), peers...)
	m := meter{client: srv.client, pipe: pipe}
	c := callgrind{pid: servers.Info(info)["process_id"], dir: dir}
	names, written := readCounts(t)
	lines := []string{countsHead}
	for _, name := range names {
		i := slices.IndexFunc(all, func(w workload) bool { return w.name == name })
		if i < 0 {
			t.Errorf("%s: no row is called %q", countsFile, name)
			continue
		}
		got := c.count(t, m, all[i])
		// On a busy machine windows pass between a row's state and its calls, and these clean up more.
		for try := 1; try < 3 && !*update && float64(got) > float64(written[name])*(1+tolerance); try++ {
			got = min(got, c.count(t, m, all[i]))
		}
		lines = append(lines, fmt.Sprintf("%-50s %7d", name, got))
		switch change := float64(got)/float64(written[name]) - 1; {
		case *update:
		case change > tolerance:
			t.Errorf("%s takes %d instructions, %.0f %% more than the %d written in %s", name, got, 100*change, written[name], countsFile)
		case change < -tolerance:
			t.Logf("%s takes %d instructions, %.0f %% less than the %d written in %s: run with -update to keep what was won", name, got, -100*change, written[name], countsFile)
		}
	}
	if *update {
		if err := os.WriteFile(countsFile, []byte(strings.Join(lines, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const countsHead = "# Instructions inside redis-server " + onServer + " a call, by callgrind: go -C bench test -run Instructions -update"

// readCounts reads `NAME COUNT` a line.
func readCounts(t *testing.T) (names []string, counts map[string]int64) {
	t.Helper()
	text, err := os.ReadFile(countsFile)
	if err != nil {
		t.Fatal(err)
	}
	counts = map[string]int64{}
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		count, err := strconv.ParseInt(line[at+1:], 10, 64)
		if err != nil {
			t.Fatalf("%s: %q: %v", countsFile, line, err)
		}
		name := strings.TrimSpace(line[:at])
		names, counts[name] = append(names, name), count
	}
	return names, counts
}

// callgrind is a server under it.
type callgrind struct {
	pid, dir string
}

// count is how many instructions a workload takes a call.
func (c callgrind) count(t *testing.T, m meter, w workload) int64 {
	t.Helper()
	const subjects = 500 // fewer, and the count depends on which calls the collector of Lua's garbage works in
	if err := m.client.FlushDB(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	if err := m.state(t.Context(), w, subjects, subject); err != nil {
		t.Fatal(err)
	}
	var calls [][]byte
	for i := range subjects {
		calls = append(calls, encode(w.call(subject(i))...))
	}
	c.control(t, "--instr=on") // what makes the state runs several times as fast without
	c.control(t, "--zero")
	if err := m.pipe.send(calls, w.expect, w.call(subject(0))[1]); err != nil {
		t.Fatalf("%s: %v", w.name, err)
	}
	c.control(t, "--dump")
	c.control(t, "--instr=off")
	dumps, err := filepath.Glob(filepath.Join(c.dir, "out.*"))
	if err != nil || len(dumps) != 1 {
		t.Fatalf("dumps of callgrind: %v %v", dumps, err)
	}
	defer os.Remove(dumps[0])
	f, err := os.Open(dumps[0])
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if found := totals.FindStringSubmatch(lines.Text()); found != nil {
			total, _ := strconv.ParseInt(found[1], 10, 64)
			return total / subjects
		}
	}
	t.Fatalf("%s has no total", dumps[0])
	return 0
}

var totals = regexp.MustCompile(`^summary: (\d+)$`)

func (c callgrind) control(t *testing.T, what string) {
	t.Helper()
	if out, err := exec.Command("callgrind_control", what, c.pid).CombinedOutput(); err != nil {
		t.Fatalf("callgrind_control %s: %v\n%s", what, err, out)
	}
}
