package wire

import (
	"errors"
	"sync/atomic"
)

// Limits bound what a client may have the server hold. They may change at any time.
type Limits struct {
	Argument atomic.Int64 // bytes of an argument
	Query    atomic.Int64 // bytes of a command and of those that are queued before it
	Output   atomic.Int64 // bytes of replies that the client has not read; 0 means unlimited

	QueryClosed, OutputClosed atomic.Int64 // clients that were above
}

// Errors of a client that is above a limit. Like Redis, the server closes the connection without a reply.
var (
	ErrQuery  = errors.New("above the query buffer limit")
	ErrOutput = errors.New("above the output buffer limit")
)
