package httpguard_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// routers are servers that answer "chat" where they serve /v1/chat, by the program that runs them: what each is told, and the name of that file.
var routers = map[string]struct{ program, file, text string }{
	"Node, new URL": {"node", "url.js", `
require('http').createServer((q, w) => w.end(new URL(q.url, 'http://x').pathname === '/v1/chat' ? 'chat' : 'other')).listen(PORT, '127.0.0.1')`},
	"Node, as Express": {"node", "express.js", `
require('http').createServer((q, w) => {
  let path = require('url').parse(q.url).pathname
  try { path = decodeURIComponent(path) } catch {}
  w.end(/^\/v1\/chat\/?$/i.test(path) ? 'chat' : 'other')
}).listen(PORT, '127.0.0.1')`},
	"Python, unquoted": {"/usr/bin/python3", "unquoted.py", `
import http.server, posixpath, urllib.parse
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        path = posixpath.normpath(urllib.parse.unquote(urllib.parse.urlsplit(self.path).path))
        body = b'chat' if path.split(';')[0] == '/v1/chat' else b'other'
        self.send_response(200)
        self.send_header('Content-Length', str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_POST = do_GET
http.server.ThreadingHTTPServer(('127.0.0.1', PORT), Handler).serve_forever()`},
	"nginx": {"nginx", "nginx.conf", `
daemon off; master_process off; pid nginx.pid; error_log stderr;
events {}
http { access_log off; server { listen 127.0.0.1:PORT; location = /v1/chat { return 200 chat; } location / { return 200 other; } } }`},
	"Caddy": {"caddy", "Caddyfile", `
{
	admin off
}
http://:PORT {
	bind 127.0.0.1
	handle /v1/chat {
		respond chat
	}
	respond other
}`},
}

// Whatever a server behind guard serves as an endpoint is counted for that endpoint, or refused.
func TestRouters_whatIsServedIsCounted(t *testing.T) {
	targets := []string{
		"/v1/chat", "/v1/chat/", "/V1/Chat", "/v1/ch%61t", "/v1/ch%2561t", "//v1/chat", "/v1//chat", "/./v1/chat", "/v1/./chat", "/x/../v1/chat", "/v1/chat/.", "/v1/chat/x/..",
		"/%2e/v1/chat", "/x/%2e%2e/v1/chat", "/v1%2Fchat", "/v1%2fchat", "/v1%5Cchat", `/v1\chat`, `/x\..\v1/chat`, `\v1\chat`, "//h/v1/chat", "//h@x/v1/chat", `/\h/v1/chat`,
		"http://h/v1/chat", "http://h//v1/chat", "/v1/chat;a=b", "/v1/chat%3ba", "/v1;x/chat", "/v1/chat#a", "/v1/chat%23a", "/v1/chat%3Fa", "/v1/chat?a", "/v1/chat%00", "/v1/chat%09", "/v1/%63hat",
		"/v1/chat%20", "/v1/chat.", "/v1%20/chat", "/v1./chat", "/v1/cha%C5%A7", "/v1/%E1%84%A3hat", "/%76%31/chat", "/v1/chat//", "/v1/chat/%2e", "/v1/chat/%2e%2e/chat", "/v1/x%2f..%2fchat", "*",
	}
	for name, of := range routers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, addr := t.TempDir(), engines.FreeAddr(t)
			_, port, _ := net.SplitHostPort(addr)
			file := filepath.Join(dir, of.file)
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(of.text, "PORT", port)), 0o600); err != nil {
				t.Fatal(err)
			}
			args := []string{file}
			switch of.program {
			case "nginx":
				args = []string{"-p", dir, "-c", file}
			case "caddy":
				args = []string{"run", "--config", file, "--adapter", "caddyfile"}
			}
			engines.Beside(t, onpath.Program(t, of.program), args...)
			rdb, _ := inProcess(t)
			s := serve(t, rdb, parse(t, `
endpoints:
  - {name: chat, match: ["POST /v1/chat"], limits: [{name: chat, kind: sliding_log, limit: 10000, window: 1m}]}
  - {name: rest, match: ["/"], limits: [{name: rest, kind: sliding_log, limit: 10000, window: 1m}]}`), httpguard.Options{}, nil)
			proxy := httptest.NewServer(s.middleware.Handler(&httputil.ReverseProxy{
				Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(&url.URL{Scheme: "http", Host: addr}) },
				ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
					http.Error(w, err.Error(), http.StatusBadGateway)
				},
			}))
			t.Cleanup(proxy.Close)
			served := 0
			for _, target := range targets {
				for _, method := range []string{"POST", "post"} {
					alone := raw(t, addr, method, target)
					guarded := raw(t, proxy.Listener.Addr().String(), method, target)
					counted := strings.HasPrefix(guarded.fields.Get("RateLimit"), `"chat"`)
					if alone.body == "chat" {
						served++
					}
					if guarded.body == "chat" && !counted {
						t.Errorf("%s %s is served as chat, and %q counts", method, target, guarded.fields.Get("RateLimit"))
					}
				}
			}
			if served < 2 {
				t.Errorf("the server served %d of the targets as chat", served)
			}
		})
	}
}

// a reply is what a server answers; its body is "" if it closes the connection.
type reply struct {
	body   string
	fields http.Header
}

// raw sends a request with a target as it is.
func raw(t *testing.T, addr, method, target string) reply {
	t.Helper()
	var conn net.Conn
	var err error
	for range 100 { // until it listens
		if conn, err = net.DialTimeout("tcp", addr, time.Second); err == nil {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
	fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: a\r\nX-API-Key: ada\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", method, target)
	response, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return reply{}
	}
	defer response.Body.Close()
	body, _ := io.ReadAll(response.Body)
	return reply{string(body), response.Header}
}
