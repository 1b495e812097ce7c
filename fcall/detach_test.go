package fcall_test

import (
	"context"
	"errors"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
)

// A leaver is the context of a caller that stops waiting.
type leaver struct {
	context.Context
	gone chan struct{}
}

var errLeft = errors.New("the caller has left")

func (l leaver) Detached() (one, other <-chan struct{}) { return nil, l.gone }

func (l leaver) DetachErr() error {
	select {
	case <-l.gone:
		return errLeft
	default:
		return nil
	}
}

// A holding hook holds an FCALL back before go-redis writes it.
type holding struct{ held, release chan struct{} }

func (h *holding) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *holding) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if _, leaves := ctx.(leaver); leaves && cmd.Name() == "fcall" { // not the greeting of the connection
			close(h.held)
			<-h.release
		}
		return next(ctx, cmd)
	}
}

func (h *holding) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// A call whose caller leaves before it is written does not run. The first call of a client cannot prove that at once.
func TestLate_callThatWasNotWritten(t *testing.T) {
	t.Parallel()
	addr, _ := servers(t)
	h := &holding{}
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	rdb.AddHook(h)
	c, err := fcall.NewClient(rdb, countLibrary, fcall.Options{})
	if err != nil {
		t.Fatal(err)
	}
	leave := func() error {
		h.held, h.release = make(chan struct{}), make(chan struct{})
		l := leaver{context.Background(), make(chan struct{})}
		go func() {
			<-h.held
			close(l.gone)
		}()
		_, err := c.Call(l, countFunction("hit"), []string{t.Name()}, nil)
		close(h.release)
		return err
	}
	err = leave()
	late := fcall.Late(err)
	if !errors.Is(err, fcall.ErrOutcomeUnknown) || late == nil {
		t.Fatal(err)
	}
	late.Wait()
	if _, err := late.Reply(); !errors.Is(err, fcall.ErrUnavailable) {
		t.Errorf("the late answer is %v", err)
	}
	if n, err := hit(c, t.Name()); n != 1 || err != nil {
		t.Errorf("%d, %v after the call that was not written", n, err)
	}
	if err := leave(); !errors.Is(err, fcall.ErrUnavailable) || fcall.Late(err) != nil {
		t.Errorf("a later call that was not written: %v", err)
	}
}

func TestLate_nilForOtherErrors(t *testing.T) {
	for _, err := range []error{nil, context.Canceled, &fcall.UnavailableError{}, &fcall.OutcomeError{Cause: context.Canceled}} {
		if fcall.Late(err) != nil {
			t.Errorf("%v has a late answer", err)
		}
	}
}
