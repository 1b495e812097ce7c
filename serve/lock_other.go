//go:build !unix

package serve

import "errors"

// lockFolder: without a lock two processes could replace each other's socket.
func lockFolder(string) (unlock func(), err error) {
	return nil, errors.New("rlfunc listens on Unix sockets on unix systems only")
}
