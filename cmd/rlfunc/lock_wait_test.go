package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
	"github.com/rlfunc/rlfunc/loader"
)

// The note about a wait for a lock needs nothing but an error: each of loader's reasons, with and without a holder.
func TestWithLock_notesEveryError(t *testing.T) {
	source, err := os.ReadFile("../../loader/errors.go")
	if err != nil {
		t.Fatal(err)
	}
	reasons := regexp.MustCompile(`Err\w+ Reason = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(reasons) < 20 {
		t.Fatalf("reasons: %v", reasons)
	}
	var said strings.Builder
	var o loader.LockOptions
	(&app{err: &said}).withLock(&cobra.Command{}, &o)
	for _, reason := range reasons {
		for _, l := range []*loader.Lock{nil, {}, {By: "nora", Op: loader.OpDeploy}} {
			o.OnWait(&loader.Error{Op: "deploy", Reason: loader.Reason(reason[1]), Text: "why", Lock: l})
		}
	}
	if n := strings.Count(said.String(), "\n"); n != 3*len(reasons) {
		t.Errorf("%d notes, want %d:\n%s", n, 3*len(reasons), said.String())
	}
}

// Deployers that take a lock in turn, too fast to read which of them has it, leave an error without a holder.
func TestDeploy_waitsForAContendedLock(t *testing.T) {
	upstream := listening(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", upstream)
			if err != nil {
				return
			}
			go func() {
				defer client.Close()
				_, _ = io.Copy(client, server)
			}()
			go func() {
				defer server.Close()
				buffer := make([]byte, 1<<16)
				for {
					n, err := client.Read(buffer)
					if err != nil {
						return
					}
					// Each SET of a lock finds it taken, and each GET of its holder finds it released: there is no such key.
					if bytes.Contains(buffer[:n], []byte("\r\nNX\r\n")) {
						_, err = client.Write([]byte("$-1\r\n"))
					} else {
						_, err = server.Write(buffer[:n])
					}
					if err != nil {
						return
					}
				}
			}()
		}
	}()
	code, _, said := runOutside(t, "deploy", "--lock-wait", "300ms", "--redis", "redis://"+l.Addr().String())
	if code != exitcode.Error || strings.Count(said, "waiting up to 300ms") != 1 || !strings.Contains(said, "other deployers take the lock in turn; try again") {
		t.Errorf("exit %d:\n%s", code, said)
	}
}
