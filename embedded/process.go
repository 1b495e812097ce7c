package embedded

import (
	"context"
	"encoding"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/embedded/internal/command"
	"github.com/rlfunc/rlfunc/embedded/internal/resp"
)

var scratch = sync.Pool{New: func() any { return new([]string) }}

// Process runs one command without a connection, sets its value or error, and returns the error, as redis.Client.Process does.
// It uses database 0, and values without a type of their own have the forms of RESP2. Commands that act on a connection, such as MULTI, WATCH and SELECT, return an error; use Client or Listen for
// them. Process checks ctx before the command, not during it.
func (s *Server) Process(ctx context.Context, cmd redis.Cmder) error {
	err := s.process(ctx, cmd)
	if err != nil {
		cmd.SetErr(err)
	}
	return err
}

func (s *Server) process(ctx context.Context, cmd redis.Cmder) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if !settable(cmd) {
		return s.decode(ctx, cmd)
	}
	buffer := scratch.Get().(*[]string) // the pool has only this type
	defer func() {
		clear(*buffer)
		scratch.Put(buffer)
	}()
	args, err := appendArgs((*buffer)[:0], cmd.Args())
	if err != nil {
		return err
	}
	*buffer = args
	if len(args) == 0 {
		return serverError("ERR unknown command ''")
	}
	if row := command.Lookup(args[0]); row != nil && row.Flags&command.Stateful != 0 {
		return serverError("ERR " + row.Name + " needs a connection: use Client or Listen")
	}
	s.life.Lock()
	closed := s.closed
	s.life.Unlock()
	if closed {
		return redis.ErrClosed
	}
	return setValue(cmd, s.do(s.own, args))
}

// settable reports whether setValue knows cmd's type.
func settable(cmd redis.Cmder) bool {
	switch cmd.(type) {
	case interface{ SetVal(any) }, *redis.IntCmd, *redis.StatusCmd, *redis.StringCmd:
		return true
	}
	return false
}

// setValue sets cmd's value, or returns its error. It leaves replies of another shape to go-redis, which rejects them.
func setValue(cmd redis.Cmder, v resp.Value) error {
	switch v = v.RESP2(); v.Kind {
	case resp.Error:
		return serverError(v.Str)
	case resp.Nil, resp.NilArray:
		return redis.Nil
	}
	switch cmd := cmd.(type) {
	case interface{ SetVal(any) }: // redis.Cmd, and types that embed it
		cmd.SetVal(plain(v))
		return nil
	case *redis.IntCmd:
		if v.Kind == resp.Int {
			cmd.SetVal(v.Int)
			return nil
		}
	case *redis.StatusCmd:
		if v.Kind == resp.Status || v.Kind == resp.Bulk {
			cmd.SetVal(v.Str)
			return nil
		}
	case *redis.StringCmd:
		if v.Kind == resp.Status || v.Kind == resp.Bulk {
			cmd.SetVal(v.Str)
			return nil
		}
	}
	return unexpected(cmd, v)
}

// plain returns a value as redis.Cmd has it: int64, string, nil, or a slice of these and of errors.
func plain(v resp.Value) any {
	switch v = v.RESP2(); v.Kind {
	case resp.Int:
		return v.Int
	case resp.Bulk, resp.Status:
		return v.Str
	case resp.Error:
		return serverError(v.Str)
	case resp.Array:
		values := make([]any, len(v.Array))
		for i, element := range v.Array {
			values[i] = plain(element)
		}
		return values
	}
	return nil
}

// decode runs a command over an in-memory connection, for types that only go-redis can decode.
func (s *Server) decode(ctx context.Context, cmd redis.Cmder) error {
	s.life.Lock()
	if s.closed {
		s.life.Unlock()
		return redis.ErrClosed
	}
	if s.client == nil {
		s.client = s.Client()
	}
	client := s.client
	s.life.Unlock()
	return client.Process(ctx, cmd)
}

// appendArgs adds args in the form that go-redis would send.
func appendArgs(to []string, args []any) ([]string, error) {
	for _, arg := range args {
		text, err := argText(arg)
		if err != nil {
			return to, err
		}
		to = append(to, text)
	}
	return to, nil
}

func argText(arg any) (string, error) {
	switch v := arg.(type) {
	case string:
		return v, nil
	case []byte:
		return string(v), nil
	case int:
		return strconv.Itoa(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case nil:
		return "", nil
	case bool:
		if v {
			return "1", nil
		}
		return "0", nil
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64), nil
	case float32:
		return strconv.FormatFloat(float64(v), 'f', -1, 64), nil
	case uint, uint8, uint16, uint32, uint64, int8, int16, int32:
		return fmt.Sprint(v), nil
	case time.Time:
		return v.Format(time.RFC3339Nano), nil
	case time.Duration:
		return strconv.FormatInt(v.Nanoseconds(), 10), nil
	case encoding.BinaryMarshaler:
		b, err := v.MarshalBinary()
		return string(b), err
	case net.IP:
		return string(v), nil
	}
	return "", fmt.Errorf("encode argument: a %T is neither text nor a number, and has no MarshalBinary", arg)
}

// serverError is an error reply. It implements redis.Error, as go-redis's own type does.
type serverError string

var _ redis.Error = serverError("")

func (e serverError) Error() string { return string(e) }

// RedisError marks the type as a reply of the server.
func (serverError) RedisError() {}

func unexpected(cmd redis.Cmder, v resp.Value) error {
	return fmt.Errorf("decode reply of %s: kind %d does not fit %T", cmd.Name(), v.Kind, cmd)
}
