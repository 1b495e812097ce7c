package python_test

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/codegen"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

const interpreter = "/usr/bin/python3" // Debian's, which sees python3-redis, python3-pytest and mypy

// TestClients_onRealRedis runs the generated clients of every library, type-checked, against a server and a proxy that loses replies.
func TestClients_onRealRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: servers are not started with -short")
	}
	if err := exec.Command(interpreter, "-c", "import redis, pytest, mypy").Run(); err != nil {
		onpath.Lacking(t, "%s lacks redis, pytest or mypy: %v", interpreter, err)
	}
	dir := t.TempDir()
	generate(t, dir, "../../../functions")
	generate(t, dir, "../conformance/functions")
	vectors := filepath.Join(dir, "vectors.json")
	writeVectors(t, vectors)
	address := startRedis(t)
	test, err := filepath.Abs("testdata/test_clients.py")
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"-m", "mypy", "--strict", "rlfunc_clients"},
		{"-m", "pytest", "-q", "-p", "no:cacheprovider", test},
	} {
		cmd := exec.Command(interpreter, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PYTHONPATH="+dir, "REDIS="+address, "PROXY="+startProxy(t, address), "VECTORS="+vectors, "PYTHONDONTWRITEBYTECODE=1")
		out, err := cmd.CombinedOutput()
		t.Logf("%s\n%s", strings.Join(args, " "), out)
		if err != nil {
			t.Errorf("%s: %v", strings.Join(args, " "), err)
		}
	}
}

func generate(t *testing.T, dir, root string) {
	t.Helper()
	tree, found := source.Load(os.DirFS(root), "functions", source.Options{})
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	files, err := codegen.Python(tree)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		name = filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// writeVectors writes the keys that fcall builds for subjects of every kind.
func writeVectors(t *testing.T, file string) {
	t.Helper()
	type vector struct {
		Subject string `json:"subject"`
		Name    string `json:"name"`
		Tag     string `json:"tag"`
		Key     string `json:"key"`
		KeyOf   string `json:"key_of"`
	}
	var all []vector
	for _, s := range []string{
		"u", "user42", "a@b.c", "+/=-_.", strings.Repeat("x", 64), strings.Repeat("x", 65), "a b", "{x}", "a:b", "a\r\nb", "a\x00", "\xff\xfe",
		"é", "\xed\xa0\x80", "\xf0\x9f\x92\xa9", "~", "a\n", strings.Repeat("\xff", 300), "203.0.113.7", "2001:db8::1",
	} {
		subject := fcall.Subject(s)
		all = append(all, vector{
			hex.EncodeToString([]byte(s)), hex.EncodeToString([]byte(s)), fcall.Tag(subject),
			fcall.Key("ns", subject, "log"), fcall.KeyOf("ns", fcall.Tag(subject), "log", s),
		})
	}
	text, err := json.Marshal(all)
	if err == nil {
		err = os.WriteFile(file, text, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func startRedis(t *testing.T) string {
	t.Helper()
	program := onpath.Program(t, "redis-server")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(program, "--port", port, "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			c.Close()
			return address
		}
		if time.Now().After(deadline) {
			t.Fatalf("redis-server does not answer: %v", err)
		}
	}
}

// startProxy loses the reply of a request that contains "lose-reply", and never passes on that of one with "hold-reply".
func startProxy(t *testing.T, backend string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go relay(client, backend)
		}
	}()
	return l.Addr().String()
}

func relay(client net.Conn, backend string) {
	defer client.Close()
	server, err := net.Dial("tcp", backend)
	if err != nil {
		return
	}
	defer server.Close()
	var lose, hold atomic.Bool
	go func() {
		defer client.Close()
		reply := make([]byte, 64<<10)
		for {
			n, err := server.Read(reply)
			if err != nil {
				return
			}
			if !bytes.Contains(reply[:n], []byte("Function not found")) { // else the client loads the library first
				if lose.Load() {
					return
				}
				if hold.Load() {
					continue
				}
			}
			if _, err := client.Write(reply[:n]); err != nil {
				return
			}
		}
	}()
	request := make([]byte, 64<<10)
	for {
		n, err := client.Read(request)
		if err != nil {
			return
		}
		lose.Store(bytes.Contains(request[:n], []byte("lose-reply:")))
		hold.Store(bytes.Contains(request[:n], []byte("hold-reply:")))
		if _, err := server.Write(request[:n]); err != nil {
			return
		}
	}
}
