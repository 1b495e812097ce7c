package main

import (
	"bytes"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/exitcode"
)

// proxied is the URL of a proxy of an embedded server. What answer returns is sent in place of the server's answer, unless it is "".
func proxied(t *testing.T, answer func(request []byte) string) (url string) {
	t.Helper()
	upstream := listening(t)
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
					if text := answer(buffer[:n]); text != "" {
						_, err = client.Write([]byte(text))
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
	return "redis://" + l.Addr().String()
}

// Deployers that take a lock in turn, too fast to read which of them has it, leave an error without a holder.
func TestDeploy_waitsForAContendedLock(t *testing.T) {
	url := proxied(t, func(request []byte) string {
		// Each SET of a lock finds it taken, and each GET of its holder finds it released: there is no such key.
		if bytes.Contains(request, []byte("\r\nNX\r\n")) {
			return "$-1\r\n"
		}
		return ""
	})
	code, _, said := runOutside(t, "deploy", "--lock-wait", "300ms", "--redis", url)
	if code != exitcode.Error || strings.Count(said, "waiting up to 300ms") != 1 || !strings.Contains(said, "other deployers take the lock in turn; try again") {
		t.Errorf("exit %d:\n%s", code, said)
	}
}
