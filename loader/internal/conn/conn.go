// Package conn sends commands to one server: at most once if they write, and no longer than their context lasts.
package conn

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"github.com/rlfunc/rlfunc/fcall"
)

// A Conn is the way to one server, or to whichever server a client sends a command to.
type Conn struct {
	Caller fcall.Caller
	Client *redis.Client // nil unless Caller is a client of one server
	pinned *pinned       // the connection in use between Pin and Unpin, or nil
}

// A pinned connection has commands that may have been abandoned: it must not be closed under them.
type pinned struct {
	*redis.Conn
	busy sync.WaitGroup
}

// Of returns the connection of a client.
func Of(caller fcall.Caller) *Conn {
	client, _ := caller.(*redis.Client)
	return &Conn{Caller: caller, Client: client}
}

// Unpinned returns the server over any connection except the pinned one.
func (c *Conn) Unpinned() *Conn { return &Conn{Caller: c.Caller, Client: c.Client} }

// Pinned reports whether commands go over one connection.
func (c *Conn) Pinned() bool { return c.pinned != nil }

// Pin sends all commands over one connection until it breaks: WATCH and WAIT are about their own connection.
func (c *Conn) Pin() {
	if c.Client != nil {
		c.pinned = &pinned{Conn: c.Client.Conn()}
	}
}

// Unpin ends Pin. The connection goes back to the client's pool, so it first gives up whatever a transaction that did not end left
// on it: queued commands and watched keys.
func (c *Conn) Unpin() {
	if c.pinned == nil {
		return
	}
	go func(one *pinned) {
		one.busy.Wait()
		ctx := context.Background()
		_ = one.Process(ctx, redis.NewCmd(ctx, "DISCARD"))
		_ = one.Process(ctx, redis.NewCmd(ctx, "UNWATCH"))
		_ = one.Close()
	}(c.pinned)
	c.pinned = nil
}

// Do runs one command until ctx ends. A command that writes is sent at most once; go-redis would repeat it after a lost reply.
func (c *Conn) Do(ctx context.Context, writes bool, args ...any) (any, error) {
	cmd := &command{Cmd: redis.NewCmd(ctx, args...), once: writes}
	var err error
	if one := c.pinned; one != nil {
		err = within(ctx, &one.busy, func() error { return one.Process(ctx, cmd) })
	} else {
		err = Within(ctx, func() error { return c.Caller.Process(ctx, cmd) })
	}
	var reply redis.Error
	if err != nil && !errors.As(err, &reply) {
		c.Unpin() // the next command may succeed over a new connection
	}
	if err != nil {
		return nil, err
	}
	return cmd.Result()
}

// Wait waits until that many replicas have confirmed what the pinned connection wrote, and returns how many have.
func (c *Conn) Wait(ctx context.Context, replicas int, timeout time.Duration) (confirmed int64, err error) {
	one, reply := c.pinned, make(chan int64, 1)
	err = within(ctx, &one.busy, func() error {
		n, err := one.Wait(ctx, replicas, timeout).Result()
		reply <- n
		return err
	})
	if err != nil {
		return 0, err
	}
	return <-reply, nil
}

type command struct {
	*redis.Cmd
	once bool
}

// NoRetry keeps go-redis from repeating the command.
func (c *command) NoRetry() bool { return c.once }

// An unsentError is the error of a command whose context had ended before it was sent.
type unsentError struct{ error }

func (e unsentError) Unwrap() error { return e.error }

// Within runs f until ctx ends. go-redis itself stops waiting for a reply at a deadline, but not when a context is cancelled.
func Within(ctx context.Context, f func() error) error { return within(ctx, new(sync.WaitGroup), f) }

// within counts f as busy until it has ended.
func within(ctx context.Context, busy *sync.WaitGroup, f func() error) error {
	if err := ctx.Err(); err != nil {
		return unsentError{err}
	}
	done := make(chan error, 1)
	busy.Go(func() { done <- f() })
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Unsent reports whether an error occurred before the command reached a connection.
func Unsent(err error) bool {
	var op *net.OpError
	var record tls.RecordHeaderError
	var cert *tls.CertificateVerificationError
	var unsent unsentError
	return errors.As(err, &unsent) || errors.As(err, &op) && op.Op == "dial" ||
		errors.As(err, &record) || errors.As(err, &cert) ||
		errors.Is(err, redis.ErrPoolTimeout) || errors.Is(err, redis.ErrPoolExhausted) || errors.Is(err, redis.ErrClosed)
}

// grace is how long started work may continue after an interruption.
const grace = 2 * time.Second

// WithGrace returns a context for work that has started: it ends 2 s after ctx.
func WithGrace(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	return longer, func() {
		stop()
		cancel()
	}
}

// ForCleanup returns a context for the last steps of an operation: WithGrace, and at most 10 s.
func ForCleanup(ctx context.Context) (context.Context, context.CancelFunc) {
	longer, cancel := WithGrace(ctx)
	bounded, cancelBounded := context.WithTimeout(longer, 10*time.Second)
	return bounded, func() {
		cancelBounded()
		cancel()
	}
}

// A Dialer opens a client of the server at an address, in database 0.
type Dialer func(addr string) *redis.Client

// LikeClient opens clients with the options of a client of one server.
func LikeClient(like *redis.Options) Dialer {
	return func(addr string) *redis.Client {
		o := *like
		o.Network, o.DB = "tcp", 0
		return Open(&o, addr, redis.NewClient)
	}
}

// LikeCluster opens clients of nodes with the options of a cluster's client.
func LikeCluster(like *redis.ClusterOptions) Dialer {
	return func(addr string) *redis.Client {
		return Open(&redis.Options{
			ClientName: like.ClientName, Dialer: like.Dialer, OnConnect: like.OnConnect, Protocol: like.Protocol,
			Username: like.Username, Password: like.Password, CredentialsProvider: like.CredentialsProvider,
			CredentialsProviderContext: like.CredentialsProviderContext, StreamingCredentialsProvider: like.StreamingCredentialsProvider,
			DialTimeout: like.DialTimeout, ReadTimeout: like.ReadTimeout, WriteTimeout: like.WriteTimeout, TLSConfig: like.TLSConfig,
		}, addr, like.NewClient)
	}
}

// LikeRing opens clients of shards with the options of a ring.
func LikeRing(like *redis.RingOptions) Dialer {
	return LikeCluster(&redis.ClusterOptions{
		ClientName: like.ClientName, Dialer: like.Dialer, OnConnect: like.OnConnect, Protocol: like.Protocol,
		Username: like.Username, Password: like.Password, CredentialsProvider: like.CredentialsProvider,
		CredentialsProviderContext: like.CredentialsProviderContext, StreamingCredentialsProvider: like.StreamingCredentialsProvider,
		DialTimeout: like.DialTimeout, ReadTimeout: like.ReadTimeout, WriteTimeout: like.WriteTimeout, TLSConfig: like.TLSConfig,
		NewClient: like.NewClient,
	})
}

// Open opens a short-lived client of one server. It does not retry commands, and its commands end with their context.
func Open(o *redis.Options, addr string, open func(*redis.Options) *redis.Client) *redis.Client {
	o.Addr = addr
	o.MaxRetries = -1
	o.DialerRetries = 1
	o.ContextTimeoutEnabled = true
	o.MinIdleConns = 0
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if onConnect := o.OnConnect; onConnect != nil {
		o.OnConnect = func(ctx context.Context, conn *redis.Conn) error {
			if err := onConnect(ctx, conn); err != nil {
				return err
			}
			// The hook may have selected another database. A user without permission for SELECT is in database 0 anyway.
			var refusal redis.Error
			if err := conn.Select(ctx, 0).Err(); !errors.As(err, &refusal) {
				return err
			}
			return nil
		}
	}
	return open(o)
}

// InDatabase0 returns a client like c whose connections use database 0, and its closer. It returns c and nil if c uses
// database 0 or has no databases.
func InDatabase0(c fcall.Caller) (fcall.Caller, io.Closer) {
	switch c := c.(type) {
	case *redis.Client:
		if c.Options().DB != 0 || c.Options().OnConnect != nil {
			o := *c.Options()
			o.DB = 0
			zero := Open(&o, o.Addr, redis.NewClient)
			return zero, zero
		}
	case *redis.Ring:
		if c.Options().DB != 0 {
			o := *c.Options()
			o.DB = 0
			zero := redis.NewRing(&o)
			return zero, zero
		}
	}
	return c, nil
}
