package serve

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Listen listens on a TCP address, such as 127.0.0.1:8080, or on a Unix socket, such as unix:/run/rlfunc/http.sock, whose file gets mode 0660. fd:3 is a
// socket that the process has inherited, as systemd and other supervisors pass them: it outlives the process, so no connection is lost by a restart.
func Listen(address string) (net.Listener, error) {
	var l net.Listener
	var err error
	number, isInherited := strings.CutPrefix(address, "fd:")
	path, isUnix := strings.CutPrefix(address, "unix:")
	switch {
	case isInherited:
		l, err = inherited(number)
	case isUnix:
		l, err = listenUnix(path)
	case strings.Trim(address, "0123456789") == "":
		return nil, fmt.Errorf("%s is a port without a host: write 127.0.0.1:%[1]s, or :%[1]s for all addresses of this machine", address)
	default:
		return net.Listen("tcp", address)
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	return l, nil
}

func inherited(number string) (net.Listener, error) {
	fd, err := strconv.ParseUint(number, 10, 16)
	if err != nil || fd < 3 {
		return nil, errors.New("it must be the number of an inherited socket, from fd:3")
	}
	file := os.NewFile(uintptr(fd), "fd:"+number)
	l, err := net.FileListener(file)
	if err != nil {
		return nil, fmt.Errorf("the process has not inherited this socket: %w", err)
	}
	return l, file.Close() // l has a copy
}

// listenUnix replaces the file of a socket on which nobody listens, and no other file.
func listenUnix(path string) (net.Listener, error) {
	if !filepath.IsAbs(path) {
		return nil, errors.New("the path must be absolute, such as unix:/run/rlfunc/http.sock")
	}
	if info, err := os.Lstat(path); err == nil {
		if info.Mode().Type() != fs.ModeSocket {
			return nil, errors.New("there is a file that is not a socket: move it away")
		}
		conn, err := net.DialTimeout("unix", path, time.Second)
		if err == nil {
			_ = conn.Close()
		}
		if !errors.Is(err, syscall.ECONNREFUSED) {
			return nil, errors.New("another process listens there: stop it first")
		}
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(path, 0o660); err != nil {
		_ = l.Close()
		return nil, err
	}
	return l, nil
}
