package serve_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/serve"
)

// crash leaves the file of a socket on which nobody listens.
func crash(t *testing.T, path string) {
	t.Helper()
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
}

func TestListen_replacesADeadSocketAndRemovesItsOwn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "http.sock")
	crash(t, path)
	for range 2 {
		l, err := serve.Listen("unix:" + path)
		if err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o660 || l.Addr().String() != path {
			t.Errorf("%v of %v, %v", l.Addr(), info, err)
		}
		_, _ = l.Close(), l.Close()
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket's file stays: %v", err)
		}
	}
}

func TestListen_leavesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := errors.Join(os.WriteFile(in("text"), []byte("precious"), 0o600), os.Mkdir(in("folder"), 0o700), os.Symlink(in("nowhere"), in("link"))); err != nil {
		t.Fatal(err)
	}
	live, err := serve.Listen("unix:" + in("live"))
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	const notASocket = "there is a file that is not a socket: move it away"
	for address, want := range map[string]string{
		"unix:" + in("text"):           notASocket,
		"unix:" + in("folder"):         notASocket,
		"unix:" + in("link"):           notASocket,
		"unix:" + in("live"):           "another process listens there: stop it first",
		"unix:" + in("none/http.sock"): "listen unix " + in("none/http.sock") + ": bind: no such file or directory",
		"unix:http.sock":               "the path must be absolute, such as unix:/run/rlfunc/http.sock",
		"unix:@abstract":               "the path must be absolute, such as unix:/run/rlfunc/http.sock",
		"fd:":                          "it must be the number of an inherited socket, from fd:3",
		"fd:2":                         "it must be the number of an inherited socket, from fd:3",
		"fd:-3":                        "it must be the number of an inherited socket, from fd:3",
		"fd:65535":                     "the process has not inherited this socket: ",
	} {
		if l, err := serve.Listen(address); err == nil || !strings.HasPrefix(err.Error(), "listen on "+address+": "+want) {
			t.Errorf("%s: %v, %v", address, l, err)
		}
	}
	if text, err := os.ReadFile(in("text")); string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
	conn, err := net.Dial("unix", in("live"))
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Close()
}

// ask asks /forward-auth on a Unix socket about a request until Run serves, and returns the status.
func ask(t *testing.T, path string) int {
	t.Helper()
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
		DisableKeepAlives: true,
	}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://limits/forward-auth", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Method": "GET", "Uri": "/none", "Host": "shop", "For": "192.0.2.1"} {
		r.Header.Set("X-Forwarded-"+name, value)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		answer, err := (&http.Client{Transport: transport, Timeout: 20 * time.Second}).Do(r)
		if err == nil {
			_ = answer.Body.Close()
			return answer.StatusCode
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}

// handedOver keeps files from being closed a second time when they are collected: their descriptors belong to serve.
var handedOver []*os.File

// A peer on a Unix socket is trusted only if the policy says so. A socket that the process has inherited outlives it: its file stays, and who connects
// meanwhile is served by the next process.
func TestRun_unixSocket(t *testing.T) {
	for _, c := range []struct {
		proxies   string
		inherited bool
		want      int
	}{{"127.0.0.1", false, http.StatusForbidden}, {"unix", false, http.StatusNoContent}, {"unix", true, http.StatusNoContent}} {
		path := filepath.Join(t.TempDir(), "http.sock")
		address := "unix:" + path
		if c.inherited {
			systemd, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
			if err != nil {
				t.Fatal(err)
			}
			defer systemd.Close()
			passed, err := systemd.File()
			if err != nil {
				t.Fatal(err)
			}
			handedOver = append(handedOver, passed)
			address = fmt.Sprintf("fd:%d", passed.Fd())
		}
		web, err := serve.Listen(address)
		if err != nil {
			t.Fatal(err)
		}
		file := filepath.Join(t.TempDir(), "limits.yaml")
		if err := os.WriteFile(file, []byte(strings.Replace(limits, "127.0.0.1", c.proxies, 1)), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			ended <- serve.Run(ctx, serve.Options{
				Redis: embedded.New(embedded.Options{}).Client(), Policy: file, HTTP: web, GRPC: listen(t, "127.0.0.1:0"), Logger: slog.New(slog.DiscardHandler),
			})
		}()
		if got := ask(t, path); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); errors.Is(err, os.ErrNotExist) == c.inherited {
			t.Errorf("%+v: %v", c, err)
		}
	}
}
