package serve_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	ratelimitv3 "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
	"github.com/rlfunc/rlfunc/serve"
)

// namesIn returns the names of the files in a folder.
func namesIn(t *testing.T, folder string) (names []string) {
	t.Helper()
	files, err := os.ReadDir(folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		names = append(names, f.Name())
	}
	return names
}

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
	dir := t.TempDir()
	path := filepath.Join(dir, "http.sock")
	crash(t, path)
	for mode, want := range map[os.FileMode]os.FileMode{0: 0o660, 0o606: 0o606} {
		l, err := serve.Listen("unix:"+path, serve.ListenOptions{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("mode %o became %o", mode, got)
		}
		if l.Addr().String() != path {
			t.Errorf("the address is %s", l.Addr())
		}
		if diff := cmp.Diff([]string{"http.sock"}, namesIn(t, dir)); diff != "" {
			t.Errorf("files (-want +got):\n%s", diff)
		}
		_, _ = l.Close(), l.Close()
		if names := namesIn(t, dir); names != nil {
			t.Errorf("after the end, there are %v", names)
		}
	}
}

func TestListen_leavesOtherFiles(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(in("text"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(os.Mkdir(in("folder"), 0o700), os.Symlink(in("nowhere"), in("link"))); err != nil {
		t.Fatal(err)
	}
	live := listenUnix(t, in("live"), serve.ListenOptions{})
	long := filepath.Join(dir, strings.Repeat("x", 100))
	if err := os.Mkdir(long, 0o700); err != nil {
		t.Fatal(err)
	}
	before := namesIn(t, dir)
	const notASocket = "there is a file that is not a socket: move it away"
	for path, want := range map[string]string{
		in("text"):                      notASocket,
		in("folder"):                    notASocket,
		in("link"):                      notASocket,
		in("live"):                      "another process listens there: stop it first, or use --take-over to replace it without an interruption",
		in("none/http.sock"):            "open " + in("none") + ": no such file or directory",
		"http.sock":                     "the path must be absolute, such as unix:/run/rlfunc/http.sock",
		"@abstract":                     "the path must be absolute, such as unix:/run/rlfunc/http.sock",
		filepath.Join(long, "web.sock"): "the path of the folder is too long by",
	} {
		l, err := serve.Listen("unix:"+path, serve.ListenOptions{})
		if err == nil || !strings.HasPrefix(err.Error(), "listen on unix:"+path+": "+want) {
			t.Errorf("%s: %v, %v", path, l, err)
		}
	}
	for _, name := range []string{"text", "folder", "link"} { // also by --take-over
		if _, err := serve.Listen("unix:"+in(name), serve.ListenOptions{TakeOver: true}); err == nil || !strings.HasSuffix(err.Error(), notASocket) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if diff := cmp.Diff(before, namesIn(t, dir)); diff != "" {
		t.Errorf("files (-before +after):\n%s", diff)
	}
	if text, err := os.ReadFile(in("text")); string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
	go func() {
		if conn, err := live.Accept(); err == nil {
			_ = conn.Close()
		}
	}()
	if conn, err := net.Dial("unix", in("live")); err != nil {
		t.Error(err)
	} else {
		_ = conn.Close()
	}
}

func listenUnix(t *testing.T, path string, o serve.ListenOptions) net.Listener {
	t.Helper()
	l, err := serve.Listen("unix:"+path, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// A running is a call of Run on listeners of the test's own.
type running struct {
	stop  context.CancelFunc
	ended chan error
}

// run calls Run with a policy that trusts proxies.
func run(t *testing.T, proxies string, o serve.Options) *running {
	t.Helper()
	o.Policy = filepath.Join(t.TempDir(), "limits.yaml")
	if err := os.WriteFile(o.Policy, []byte(strings.NewReplacer("127.0.0.1", proxies, "limit: 2", "limit: 1000000").Replace(limits)), 0o600); err != nil {
		t.Fatal(err)
	}
	if o.Redis == nil {
		o.Redis = embedded.New(embedded.Options{}).Client()
	}
	if o.GRPC == nil {
		o.GRPC = listen(t, "127.0.0.1:0")
	}
	o.Logger = slog.New(slog.DiscardHandler)
	ctx, stop := context.WithCancel(context.Background())
	r := &running{stop: stop, ended: make(chan error, 1)}
	go func() { r.ended <- serve.Run(ctx, o) }()
	t.Cleanup(stop)
	return r
}

// over returns a client whose connections are all to one address, from a local one.
func over(t *testing.T, network, address, from string, config *tls.Config) *http.Client {
	t.Helper()
	d := net.Dialer{}
	if from != "" {
		d.LocalAddr = &net.TCPAddr{IP: net.ParseIP(from)}
	}
	transport := &http.Transport{
		DialContext:     func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, network, address) },
		TLSClientConfig: config, DisableKeepAlives: true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: 20 * time.Second}
}

// ask asks /forward-auth about a request, and returns the status.
func ask(t *testing.T, c *http.Client, scheme string) (int, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, scheme+"://limits/forward-auth", nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{"Method": "GET", "Uri": "/none", "Host": "shop", "For": "192.0.2.1"} {
		r.Header.Set("X-Forwarded-"+name, value)
	}
	answer, err := c.Do(r)
	if err != nil {
		return 0, err
	}
	return answer.StatusCode, answer.Body.Close()
}

// awaitStatus waits until /forward-auth is answered with a status.
func awaitStatus(t *testing.T, c *http.Client, scheme string, want int) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		got, err := ask(t, c, scheme)
		if got == want {
			return
		} else if time.Now().After(deadline) {
			t.Fatalf("not %d after 20 s, but %d, %v", want, got, err)
		}
	}
}

// A peer on a Unix socket is trusted only if the policy says so.
func TestRun_unixSocket(t *testing.T) {
	for proxies, want := range map[string]int{"127.0.0.1": http.StatusForbidden, "unix": http.StatusNoContent} {
		path := filepath.Join(t.TempDir(), "http.sock")
		r := run(t, proxies, serve.Options{HTTP: listenUnix(t, path, serve.ListenOptions{})})
		awaitStatus(t, over(t, "unix", path, "", nil), "http", want)
		r.stop()
		if err := <-r.ended; err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket's file stays: %v", err)
		}
	}
}

// A process takes over once it is ready, no connection fails, and the one before it drains.
func TestRun_takesOver(t *testing.T) {
	dir := t.TempDir()
	web, rpc := filepath.Join(dir, "http.sock"), filepath.Join(dir, "grpc.sock")
	begin := func(rdb redis.UniversalClient) *running {
		takeOver := serve.ListenOptions{TakeOver: true}
		return run(t, "unix", serve.Options{Redis: rdb, HTTP: listenUnix(t, web, takeOver), GRPC: listenUnix(t, rpc, takeOver)})
	}
	client := over(t, "unix", web, "", nil)
	first := begin(nil)
	awaitStatus(t, client, "http", http.StatusNoContent)
	socketOf := func(path string) os.FileInfo {
		info, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info
	}
	was := socketOf(web)

	down := redis.NewClient(&redis.Options{Addr: engines.FreeAddr(t), MaxRetries: -1, DialTimeout: time.Second})
	defer down.Close()
	unready := begin(down)
	for range 50 {
		if got, err := ask(t, client, "http"); got != http.StatusNoContent || err != nil {
			t.Fatalf("beside a process that is not ready: %d, %v", got, err)
		}
	}
	unready.stop()
	if err := <-unready.ended; err != nil {
		t.Error(err)
	}
	if !os.SameFile(was, socketOf(web)) {
		t.Fatal("a process that was never ready has changed the socket")
	}

	second := begin(nil)
	for ended := false; !ended; {
		select {
		case err := <-first.ended:
			if ended = true; err != nil {
				t.Error(err)
			}
		default:
		}
		if got, err := ask(t, client, "http"); got != http.StatusNoContent || err != nil {
			t.Fatalf("while a process takes over: %d, %v", got, err)
		}
	}
	if os.SameFile(was, socketOf(web)) {
		t.Error("the socket is the one from before")
	}
	if diff := cmp.Diff([]string{"grpc.sock", "http.sock"}, namesIn(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	second.stop()
	if err := <-second.ended; err != nil {
		t.Error(err)
	}
	if names := namesIn(t, dir); names != nil {
		t.Errorf("after the end, there are %v", names)
	}
}

// headerV2 returns a header of version 2: a command, a family, and what follows the length.
func headerV2(command, family byte, rest ...byte) string {
	b := append([]byte("\r\n\r\n\x00\r\nQUIT\n"), 0x20|command, family)
	return string(append(binary.BigEndian.AppendUint16(b, uint16(len(rest))), rest...))
}

func TestRun_proxyProtocol(t *testing.T) {
	const question = "GET /forward-auth HTTP/1.1\r\nHost: l\r\nConnection: close\r\nX-Forwarded-Method: GET\r\nX-Forwarded-Uri: /none\r\n" +
		"X-Forwarded-Host: h\r\nX-Forwarded-For: 192.0.2.1\r\n\r\n"
	v4 := func(a, b, c, d byte, tlvs int) []byte {
		return append([]byte{a, b, c, d, 10, 0, 0, 1, 0, 9, 0, 9}, bytes.Repeat([]byte{4, 0, 1, 0}, tlvs)...)
	}
	v6 := append(net.ParseIP("::ffff:198.51.100.7").To16(), append(net.ParseIP("2001:db8::1").To16(), 0, 9, 0, 9)...)
	unix := make([]byte, 216)
	copy(unix, "198.51.100.7:80")
	web := listen(t, "127.0.0.1:0")
	run(t, "198.51.100.7", serve.Options{HTTP: web, ProxyProtocol: []string{"127.0.0.1", "10.0.0.0/8"}, ReadTimeout: time.Minute})
	awaitStatus(t, over(t, "tcp", web.Addr().String(), "127.0.0.2", nil), "http", http.StatusForbidden) // it serves
	for name, c := range map[string]struct{ from, header, want string }{
		"1: the trusted proxy":                 {"127.0.0.1", "PROXY TCP4 198.51.100.7 10.0.0.1 9 9\r\n", "204"},
		"1: another client":                    {"127.0.0.1", "PROXY TCP4 198.51.100.8 10.0.0.1 9 9\r\n", "403"},
		"1: IPv6":                              {"127.0.0.1", "PROXY TCP6 ::ffff:198.51.100.7 2001:db8::1 9 9\r\n", "204"},
		"1: UNKNOWN is the peer":               {"127.0.0.1", "PROXY UNKNOWN\r\n", "403"},
		"1: UNKNOWN ignores addresses":         {"127.0.0.1", "PROXY UNKNOWN 198.51.100.7 10.0.0.1 9 9\r\n", "403"},
		"1: too long":                          {"127.0.0.1", "PROXY UNKNOWN " + strings.Repeat("f", 95) + "\r\n", ""},
		"1: no address":                        {"127.0.0.1", "PROXY TCP4 localhost 10.0.0.1 9 9\r\n", ""},
		"1: another form of an address":        {"127.0.0.1", "PROXY TCP4 198.51.100.007 10.0.0.1 9 9\r\n", ""},
		"1: in lower case":                     {"127.0.0.1", "proxy TCP4 198.51.100.7 10.0.0.1 9 9\r\n", ""},
		"2: the trusted proxy":                 {"127.0.0.1", headerV2(1, 0x11, v4(198, 51, 100, 7, 0)...), "204"},
		"2: another client":                    {"127.0.0.1", headerV2(1, 0x11, v4(198, 51, 100, 8, 0)...), "403"},
		"2: IPv6":                              {"127.0.0.1", headerV2(1, 0x21, v6...), "204"},
		"2: LOCAL is the peer":                 {"127.0.0.1", headerV2(0, 0x11, v4(198, 51, 100, 7, 0)...), "403"},
		"2: TLVs":                              {"127.0.0.1", headerV2(1, 0x11, v4(198, 51, 100, 7, 1000)...), "204"},
		"2: more than 4 KiB":                   {"127.0.0.1", headerV2(1, 0x11, v4(198, 51, 100, 7, 1100)...), ""},
		"2: LOCAL of more than 4 KiB":          {"127.0.0.1", headerV2(0, 0, v4(198, 51, 100, 7, 1100)...), ""},
		"2: a Unix socket named an address":    {"127.0.0.1", headerV2(1, 0x31, unix...), "403"},
		"2: a datagram":                        {"127.0.0.1", headerV2(1, 0x12, v4(198, 51, 100, 7, 0)...), ""},
		"2: no such family":                    {"127.0.0.1", headerV2(1, 0x13, v4(198, 51, 100, 7, 0)...), ""},
		"2: too short":                         {"127.0.0.1", headerV2(1, 0x11, 198, 51, 100, 7), ""},
		"none":                                 {"127.0.0.1", "", ""},
		"two of them":                          {"127.0.0.1", strings.Repeat("PROXY TCP4 198.51.100.7 10.0.0.1 9 9\r\n", 2), "400"},
		"of a peer that may not, version 1":    {"127.0.0.2", "PROXY TCP4 198.51.100.7 10.0.0.1 9 9\r\n", "400"},
		"of a peer that may not, version 2":    {"127.0.0.2", headerV2(1, 0x11, v4(198, 51, 100, 7, 0)...), "400"},
		"of a peer that may not, and has none": {"127.0.0.2", "", "403"},
	} {
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(c.from)}}
		conn, err := d.DialContext(t.Context(), "tcp", web.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(conn, c.header+question) // may be closed already
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		answer, err := io.ReadAll(conn) // a reset is an end, too
		var late net.Error
		if errors.As(err, &late) && late.Timeout() {
			t.Errorf("%s: the connection stays open", name)
		}
		got := ""
		if len(answer) > 0 {
			got = strings.Fields(string(answer))[1]
		}
		if got != c.want {
			t.Errorf("%s: want %q, got %q", name, c.want, answer)
		}
		_ = conn.Close()
	}
}

// A header that arrives slowly delays no other connection, and ends its own.
func TestRun_slowProxyHeader(t *testing.T) {
	web, rpc := listen(t, "127.0.0.1:0"), listen(t, "127.0.0.1:0")
	run(t, "127.0.0.1", serve.Options{HTTP: web, GRPC: rpc, ProxyProtocol: []string{"127.0.0.1"}, ReadTimeout: 2 * time.Second})
	var slow []net.Conn
	for _, port := range []net.Listener{web, rpc} {
		for _, part := range []string{"", "PRO", headerV2(1, 0x11)[:14]} {
			conn, err := net.Dial("tcp", port.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_, _ = io.WriteString(conn, part)
			slow = append(slow, conn)
		}
	}
	awaitStatus(t, over(t, "tcp", web.Addr().String(), "127.0.0.2", nil), "http", http.StatusForbidden)
	for i, conn := range slow {
		_ = conn.SetReadDeadline(time.Now().Add(20 * time.Second))
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%d: the connection stays open: %v", i, err)
		}
	}
}

// asksGRPC asks for a decision at an address. It waits for the first answer unless it must fail.
func asksGRPC(t *testing.T, address string, config *tls.Config, fails bool) {
	t.Helper()
	security := insecure.NewCredentials()
	if config != nil {
		security = credentials.NewTLS(config)
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(security), grpc.WithDefaultCallOptions(grpc.WaitForReady(!fails)))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	got, err := ratelimitv3.NewRateLimitServiceClient(conn).ShouldRateLimit(ctx, total())
	if fails && status.Code(err) != codes.Unavailable || !fails && got.GetOverallCode() != ratelimitv3.RateLimitResponse_OK {
		t.Errorf("gRPC: %v, %v", got, err)
	}
}

// HAProxy says who the client is, over TCP and Unix sockets, before TLS.
func TestRun_behindHAProxy(t *testing.T) {
	files := engines.NewCertificates(t)
	for name, c := range map[string]struct {
		senders string
		tls     *serve.TLS
	}{"tcp": {"127.0.0.0/8", nil}, "unix": {"unix", nil}, "unix with TLS": {"unix", &serve.TLS{Cert: files.Cert, Key: files.Key}}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			port := func(name string) (net.Listener, string) {
				if c.senders == "unix" {
					return listenUnix(t, filepath.Join(dir, name), serve.ListenOptions{}), "unix@" + filepath.Join(dir, name)
				}
				l := listen(t, "127.0.0.1:0")
				return l, l.Addr().String()
			}
			web, server := port("http.sock")
			rpc, grpcServer := port("grpc.sock")
			run(t, "127.0.0.2", serve.Options{HTTP: web, GRPC: rpc, ProxyProtocol: []string{c.senders}, TLS: c.tls})
			config := "global\n\tmaxconn 64\ndefaults\n\tmode tcp\n\ttimeout client 30s\n\ttimeout connect 5s\n\ttimeout server 30s\n"
			ports, grpcPorts := map[string]string{}, map[string]string{}
			for _, option := range []string{"send-proxy", "send-proxy-v2", ""} {
				ports[option], grpcPorts[option] = engines.FreeAddr(t), engines.FreeAddr(t)
				for address, server := range map[string]string{ports[option]: server, grpcPorts[option]: grpcServer} {
					config += fmt.Sprintf("listen at-%s\n\tbind %s\n\tserver serve %s %s\n", strings.ReplaceAll(address, ":", "-"), address, server, option)
				}
			}
			file := filepath.Join(dir, "haproxy.cfg")
			if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			engines.Beside(t, onpath.Program(t, "haproxy"), "-db", "-f", file)
			scheme, trust := "http", (*tls.Config)(nil)
			if c.tls != nil {
				scheme, trust = "https", trusting(t, files, false)
				trust.ServerName = "127.0.0.1"
			}
			for option, address := range ports {
				if option != "" {
					awaitStatus(t, over(t, "tcp", address, "127.0.0.2", trust), scheme, http.StatusNoContent)
					awaitStatus(t, over(t, "tcp", address, "127.0.0.3", trust), scheme, http.StatusForbidden)
					asksGRPC(t, grpcPorts[option], trust, false)
				}
			}
			asksGRPC(t, grpcPorts[""], trust, true) // without a header, which HAProxy must send
		})
	}
}

func TestRun_rejectsSendersOfEveryAddress(t *testing.T) {
	r := run(t, "127.0.0.1", serve.Options{HTTP: listen(t, "127.0.0.1:0"), ProxyProtocol: []string{"0.0.0.0/0"}})
	var invalid *serve.StartError
	if err := <-r.ended; !errors.As(err, &invalid) || !strings.HasPrefix(err.Error(), "proxy protocol: must not trust every peer") {
		t.Error(err)
	}
}
