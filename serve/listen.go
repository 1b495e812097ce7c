package serve

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/rlfunc/rlfunc/guard/policy"
)

// ListenOptions configure Listen.
type ListenOptions struct {
	// Mode has the permissions of a Unix socket's file; a peer needs write permission. Defaults to 0660.
	Mode fs.FileMode
	// TakeOver replaces a Unix socket on which another process listens, as soon as Run is ready. Run of that process then drains. Defaults to
	// false: Listen returns an error.
	TakeOver bool
}

// Listen listens on a TCP address, such as 127.0.0.1:8080, or on a Unix socket, such as unix:/run/rlfunc/http.sock. It replaces the file of a
// socket on which nobody listens, and no other file.
func Listen(address string, o ListenOptions) (net.Listener, error) {
	path, isUnix := strings.CutPrefix(address, "unix:")
	if !isUnix {
		return net.Listen("tcp", address)
	}
	s, err := listenUnix(path, o)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return s, nil
}

// A socket listens on a Unix socket. Its file is made in a folder that nobody else can enter, and moved to its path by publish, so that no
// peer finds it before it has its permissions, and none finds no file while one socket replaces another.
type socket struct {
	*net.UnixListener
	path string

	mu        sync.Mutex
	file      string      // where the file is
	info      fs.FileInfo // of the file
	published bool
	closed    bool
}

func listenUnix(path string, o ListenOptions) (*socket, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("the path must be absolute, such as unix:/run/rlfunc/http.sock")
	}
	unlock, err := lockFolder(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer unlock()
	live, err := isLive(path)
	if err != nil {
		return nil, err
	}
	if live && !o.TakeOver {
		return nil, errors.New("another process listens there: stop it first, or use --take-over to replace it without an interruption")
	}
	own, err := os.MkdirTemp(filepath.Dir(path), ".rlfunc")
	if err != nil {
		return nil, err
	}
	s := &socket{path: path, file: filepath.Join(own, "s")}
	if len(s.file) > maxSocketPath {
		err = fmt.Errorf("the path of the folder is too long by %d bytes", len(s.file)-maxSocketPath)
	} else if s.UnixListener, err = net.ListenUnix("unix", &net.UnixAddr{Name: s.file, Net: "unix"}); err == nil {
		s.SetUnlinkOnClose(false)
		err = os.Chmod(s.file, cmp.Or(o.Mode, 0o660))
	}
	if err == nil {
		s.info, err = os.Lstat(s.file)
	}
	if err == nil && !live {
		err = s.move()
	}
	if err != nil {
		if s.UnixListener != nil {
			_ = s.UnixListener.Close()
		}
		return nil, errors.Join(err, os.RemoveAll(own))
	}
	return s, nil
}

// maxSocketPath is the most bytes of a socket's path that every system accepts.
const maxSocketPath = 103

// isLive reports whether a process listens on the socket at a path. It returns an error for any other kind of file.
func isLive(path string) (bool, error) {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return false, errors.New("there is a file that is not a socket: move it away")
	}
	conn, err := net.DialTimeout("unix", path, time.Second)
	if err == nil {
		return true, conn.Close()
	}
	full := errors.Is(err, syscall.EAGAIN) || os.IsTimeout(err)
	if !full && !errors.Is(err, syscall.ECONNREFUSED) {
		return false, fmt.Errorf("cannot tell whether another process listens there: %w", err)
	}
	return full, nil
}

// publish moves the file to its path, in place of another socket.
func (s *socket) publish() error {
	unlock, err := lockFolder(filepath.Dir(s.path))
	if err != nil {
		return err
	}
	defer unlock()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.published || s.closed {
		return nil
	}
	if _, err := isLive(s.path); err != nil {
		return fmt.Errorf("take over unix:%s: %w", s.path, err)
	}
	return s.move()
}

func (s *socket) move() error {
	if err := os.Rename(s.file, s.path); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(s.file))
	s.file, s.published = s.path, true
	return nil
}

// taken reports whether another process has taken over the path.
func (s *socket) taken() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	info, err := os.Lstat(s.path)
	return s.published && err == nil && info.Mode().Type() == fs.ModeSocket && !os.SameFile(info, s.info)
}

// Addr returns the address of the path, where the file may not be yet.
func (s *socket) Addr() net.Addr { return &net.UnixAddr{Name: s.path, Net: "unix"} }

// Close also removes the file, unless another process has taken over the path.
func (s *socket) Close() error {
	if unlock, err := lockFolder(filepath.Dir(s.path)); err == nil {
		defer unlock()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	if !s.published {
		_ = os.RemoveAll(filepath.Dir(s.file))
	} else if info, err := os.Lstat(s.path); err == nil && os.SameFile(info, s.info) {
		_ = os.Remove(s.path)
	}
	return s.UnixListener.Close()
}

// sockets are the listeners of a process that are Unix sockets.
type sockets []*socket

// publish publishes those that are to take over others.
func (all sockets) publish() error {
	for _, s := range all {
		if err := s.publish(); err != nil {
			return err
		}
	}
	return nil
}

// taken returns the path of one that another process has taken over, or "".
func (all sockets) taken() string {
	for _, s := range all {
		if s.taken() {
			return s.path
		}
	}
	return ""
}

// proxied returns a listener whose connections from the senders begin with a PROXY header, which says whose connections they are. Those of
// other peers do not: a header is no request, so the server closes them. A header is read when its connection is, so one that does not arrive
// delays no other.
func proxied(l net.Listener, senders []string, within time.Duration) (net.Listener, error) {
	prefixes, unix, err := policy.ParseProxies(senders)
	if err != nil || l == nil || len(senders) == 0 {
		return l, err
	}
	return &proxyproto.Listener{
		Listener:          l,
		ReadHeaderTimeout: within,
		ConnPolicy: func(o proxyproto.ConnPolicyOptions) (proxyproto.Policy, error) {
			tcp, isTCP := o.Upstream.(*net.TCPAddr)
			if !isTCP && unix {
				return proxyproto.REQUIRE, nil
			}
			for _, p := range prefixes {
				if isTCP && p.Contains(tcp.AddrPort().Addr().Unmap().WithZone("")) {
					return proxyproto.REQUIRE, nil
				}
			}
			return proxyproto.SKIP, nil
		},
		ValidateHeader: func(h *proxyproto.Header) error {
			if h.TransportProtocol.IsDatagram() {
				return errors.New("the header is of a datagram")
			}
			return nil
		},
	}, nil
}
