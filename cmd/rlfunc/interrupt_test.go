//go:build unix

package main

import (
	"bytes"
	"context"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
)

// relay is a proxy of an embedded server. It calls atExec before it forwards an EXEC.
func relay(t *testing.T, atExec func()) (url string) {
	return proxied(t, func(request []byte) (answer string) {
		if bytes.HasSuffix(bytes.ToUpper(request), []byte("EXEC\r\n")) {
			atExec()
		}
		return ""
	})
}

func TestDeploy_interruptedPrintsWhatItLoaded(t *testing.T) {
	t.Setenv("REDIS_URL", "")
	ctx, cancel := context.WithCancelCause(t.Context())
	loads := 0
	url := relay(t, func() {
		if loads++; loads == 2 {
			cancel(exitcode.Signal{Signal: os.Interrupt})
		}
	})
	var out, errOut bytes.Buffer
	code := runUntil(ctx, []string{"deploy", "--redis", url, "-C", t.TempDir()}, strings.NewReader(""), &out, &errOut)
	if code != exitcode.Interrupted {
		t.Errorf("exit code %d\n%s", code, errOut.String())
	}
	if loaded, left := strings.Count(out.String(), " loaded "), strings.Count(out.String(), " not_started"); loaded != 2 || left < 1 {
		t.Errorf("%d loaded, %d not tried:\n%s", loaded, left, out.String())
	}
	if !strings.Contains(errOut.String(), "steps were not tried; run it again to finish") {
		t.Errorf("standard error: %s", errOut.String())
	}
	if code := run([]string{"deploy", "--redis", url, "-C", t.TempDir()}, strings.NewReader(""), &out, &errOut); code != 0 {
		t.Errorf("the next run exits %d: %s", code, errOut.String())
	}
}

// Vetting has nothing to finish.
func TestVet_interrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(exitcode.Signal{Signal: os.Interrupt})
	var out, errOut bytes.Buffer
	code := runUntil(ctx, []string{"vet", "-C", "../../examples/templates"}, strings.NewReader(""), &out, &errOut)
	if code != exitcode.Interrupted || out.Len() > 0 || errOut.String() != "rlfunc: interrupt\n" {
		t.Errorf("exit code %d\n%s%s", code, &out, &errOut)
	}
}

// silent is the URL of a server that accepts connections and never answers.
func silent(t *testing.T) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				_, _ = io.Copy(io.Discard, conn)
			}()
		}
	}()
	return "redis://" + l.Addr().String()
}

// ofServers are commands that ask a server before they print anything.
var ofServers = []string{
	"top --once --namespace shop", "top --once --json --namespace shop", "inspect ip=203.0.113.7 --namespace shop",
	"call ratelimit.gcra subject=ann limit=1 period=1s", "bench ratelimit.gcra subject=ann limit=1 period=1s",
}

// Commands print why they end before their server answers, and nothing that looks like an answer.
func TestCommands_nameTheSignal(t *testing.T) {
	for _, command := range ofServers {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(50*time.Millisecond, func() { cancel(exitcode.Signal{Signal: os.Interrupt}) })
			var out, errOut bytes.Buffer
			code := runUntil(ctx, append(strings.Fields(command), "--redis", silent(t)), strings.NewReader(""), &out, &errOut)
			if code != exitcode.Interrupted || out.Len() > 0 || !strings.Contains(errOut.String(), "rlfunc: interrupt") {
				t.Errorf("exit code %d\n%s%s", code, &out, &errOut)
			}
		})
	}
}

func TestCommands_endAtTheirTimeout(t *testing.T) {
	for _, command := range ofServers {
		began := time.Now()
		var out, errOut bytes.Buffer
		args := append(strings.Fields(command), "--timeout", "50ms", "--redis", silent(t))
		code := run(args, strings.NewReader(""), &out, &errOut)
		if code != exitcode.Error || out.Len() > 0 || !strings.Contains(errOut.String(), "rlfunc: stopped after 50ms (--timeout)") {
			t.Errorf("%s: exit code %d\n%s%s", command, code, &out, &errOut)
		}
		if took := time.Since(began); took > 5*time.Second {
			t.Errorf("%s: took %s", command, took)
		}
	}
}

func TestTop_endsOnlyWithAnError(t *testing.T) {
	args := []string{"top", "--namespace", "shop", "--redis", "redis://" + listening(t)}
	var out, errOut bytes.Buffer
	if code := run(append(args, "--timeout", "1s"), strings.NewReader(""), &out, &errOut); code != exitcode.Error || errOut.String() != "rlfunc: stopped after 1s (--timeout)\n" {
		t.Errorf("exit code %d: %s", code, &errOut)
	}
	if !strings.HasPrefix(out.String(), "no guard of namespace shop reports") {
		t.Errorf("printed %s", &out)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(exitcode.Signal{Signal: os.Interrupt}) })
	if code := runUntil(ctx, args, strings.NewReader(""), &out, &errOut); code != exitcode.Interrupted {
		t.Errorf("exit code %d: %s", code, &errOut)
	}
}

// A node that does not answer does not delay the exit: the first SIGINT ends the deploy with 130, a second one ends the process.
func TestDeploy_signals(t *testing.T) {
	for _, tt := range []struct {
		name    string
		signals int
	}{{"one", 1}, {"two", 2}} {
		t.Run(tt.name, func(t *testing.T) {
			stuck, end := make(chan struct{}, 10), make(chan struct{})
			defer close(end)
			url := relay(t, func() {
				stuck <- struct{}{}
				<-end
			})
			process := exec.Command("rlfunc", "deploy", "--redis", url, "-C", t.TempDir())
			process.Env = append(os.Environ(), "REDIS_URL=")
			output := &bytes.Buffer{}
			process.Stdout, process.Stderr = output, output
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan struct{})
			go func() {
				defer close(ended)
				_ = process.Wait()
			}()
			select {
			case <-stuck:
			case <-ended:
				t.Fatalf("the process ended: %s", output.String())
			}
			for sent := 0; sent < tt.signals || tt.signals > 1; sent++ {
				if process.Process.Signal(syscall.SIGINT) != nil {
					break // the process ended
				}
				select {
				case <-ended:
				case <-time.After(10 * time.Millisecond): // the process may not have the first one yet
				}
			}
			<-ended
			status := process.ProcessState.Sys().(syscall.WaitStatus)
			if killed := status.Signaled() && status.Signal() == syscall.SIGINT; killed != (tt.signals > 1) {
				t.Errorf("ended by the signal: %v; output:\n%s", killed, output.String())
			}
			if tt.signals == 1 && status.ExitStatus() != 130 {
				t.Errorf("exit code %d; output:\n%s", status.ExitStatus(), output.String())
			}
		})
	}
}
