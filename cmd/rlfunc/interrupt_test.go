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
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/internal/counting"
)

// proxied is the URL of a proxy of an embedded server. What answer returns is sent in place of the server's answer, unless it is "".
func proxied(t *testing.T, answer func(request []byte) string) (url string) {
	t.Helper()
	upstream := listening(t)
	return "redis://" + counting.Listen(t, func(client net.Conn) {
		server, err := net.Dial("tcp", upstream)
		if err != nil {
			return
		}
		go func() {
			defer client.Close()
			_, _ = io.Copy(client, server)
		}()
		defer server.Close()
		buffer := make([]byte, 1<<16)
		for {
			n, err := client.Read(buffer)
			if err != nil {
				return
			}
			if text := answer(buffer[:n]); text != "" {
				_, err = client.Write([]byte(text))
			} else {
				_, err = server.Write(buffer[:n])
			}
			if err != nil {
				return
			}
		}
	})
}

// relay is a proxy of an embedded server. It calls atExec before it forwards an EXEC.
func relay(t *testing.T, atExec func()) (url string) {
	return proxied(t, func(request []byte) (answer string) {
		if bytes.HasSuffix(bytes.ToUpper(request), []byte("EXEC\r\n")) {
			atExec()
		}
		return ""
	})
}

// The libraries of a node are loaded in one transaction, which an interruption lets end. What comes after it is not begun.
func TestDeploy_interruptedLetsTheLoadEnd(t *testing.T) {
	t.Setenv("REDIS_URL", "")
	for at, want := range map[int]string{1: "interrupted", 2: ""} { // the transaction that begins the deploy, and that of the node
		ctx, cancel := context.WithCancelCause(t.Context())
		seen := 0
		url := relay(t, func() {
			if seen++; seen == at {
				cancel(signalError{Signal: os.Interrupt})
			}
		})
		var out, errOut bytes.Buffer
		code := runUntil(ctx, []string{"deploy", "--redis", url, "-C", t.TempDir()}, strings.NewReader(""), &out, &errOut)
		if loaded := strings.Count(out.String(), " loaded "); (want == "") != (loaded == len(builtIn(t))) || !strings.Contains(errOut.String(), want) {
			t.Errorf("transaction %d: exit %d, %d loaded\n%s%s", at, code, loaded, &out, &errOut)
		}
		if code := run([]string{"deploy", "--redis", url, "-C", t.TempDir()}, strings.NewReader(""), &out, &errOut); code != 0 {
			t.Errorf("the next run exits %d: %s", code, errOut.String())
		}
	}
}

func builtIn(t *testing.T) []*codegen.Library {
	t.Helper()
	tree, err := project.BuiltIn(t.TempDir()).Read()
	if err != nil {
		t.Fatal(err)
	}
	return tree.Libraries
}

// Vetting has nothing to finish.
func TestVet_interrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signalError{Signal: os.Interrupt})
	var out, errOut bytes.Buffer
	code := runUntil(ctx, []string{"vet", "-C", "../.."}, strings.NewReader(""), &out, &errOut)
	if code != exitInterrupted || out.Len() > 0 || errOut.String() != "rlfunc: interrupt\n" {
		t.Errorf("exit code %d\n%s%s", code, &out, &errOut)
	}
}

// silent is the URL of a server that accepts connections and never answers.
func silent(t *testing.T) (url string) {
	t.Helper()
	return "redis://" + counting.Listen(t, func(conn net.Conn) {
		defer conn.Close()
		_, _ = io.Copy(io.Discard, conn)
	})
}

// ofServers are commands that ask a server before they print anything.
var ofServers = []string{
	"top --once --namespace shop", "top --once --json --namespace shop", "inspect ip=203.0.113.7 --namespace shop",
	"call ratelimit.gcra subject=ann limit=1 period=1s",
}

// Commands print why they end before their server answers, and nothing that looks like an answer.
func TestCommands_nameTheSignal(t *testing.T) {
	for _, command := range ofServers {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(50*time.Millisecond, func() { cancel(signalError{Signal: os.Interrupt}) })
			var out, errOut bytes.Buffer
			code := runUntil(ctx, append(strings.Fields(command), "--redis", silent(t)), strings.NewReader(""), &out, &errOut)
			if code != exitInterrupted || out.Len() > 0 || !strings.Contains(errOut.String(), "rlfunc: interrupt") {
				t.Errorf("exit code %d\n%s%s", code, &out, &errOut)
			}
		})
	}
}

func TestTop_endsOnlyWithAnError(t *testing.T) {
	args := []string{"top", "--namespace", "shop", "--redis", "redis://" + listening(t)}
	var out, errOut bytes.Buffer
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Second, func() { cancel(signalError{Signal: os.Interrupt}) })
	if code := runUntil(ctx, args, strings.NewReader(""), &out, &errOut); code != exitInterrupted || errOut.String() != "rlfunc: interrupt\n" {
		t.Errorf("exit code %d: %s", code, &errOut)
	}
	if !strings.HasPrefix(out.String(), "no guard of namespace shop reports") {
		t.Errorf("printed %s", &out)
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
			var begun atomic.Bool // the first transaction begins the deploy, and the next is the node's
			url := relay(t, func() {
				if begun.Swap(true) {
					stuck <- struct{}{}
					<-end
				}
			})
			process := exec.Command("rlfunc", "deploy", "--redis", url, "-C", t.TempDir())
			process.Env = append(os.Environ(), "REDIS_URL=")
			output := &bytes.Buffer{}
			process.Stdout, process.Stderr = output, output
			must(t, process.Start())
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
