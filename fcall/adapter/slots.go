package adapter

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/rlfunc/rlfunc/internal/servers"
)

const (
	slotsAge = time.Minute            // after which the slots are loaded again
	slotsGap = 200 * time.Millisecond // minimum between two loads
)

// slots are the primaries of a cluster's hash slots. The library has its own, and does not show them.
type slots struct {
	sender  Sender
	owners  atomic.Pointer[[servers.Slots]string]
	loading atomic.Bool
	loaded  atomic.Int64 // the time of the last load, in ns since start
}

var start = time.Now() // for the monotonic clock

func (s *slots) age() time.Duration { return time.Since(start) - time.Duration(s.loaded.Load()) }

func (s *slots) node(key string) string {
	if s.age() > slotsAge {
		s.reload()
	}
	return s.owners.Load()[servers.Slot(key)]
}

// reload loads the slots in the background.
func (s *slots) reload() {
	if s.age() < slotsGap || !s.loading.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.loading.Store(false)
		_ = s.load(context.Background()) // after an error the old ones stay
	}()
}

func (s *slots) load(ctx context.Context) error {
	r := s.sender.Send(ctx, []Command{{anyKey, []string{"CLUSTER", "SLOTS"}}})[0]
	s.loaded.Store(int64(time.Since(start)))
	if r.Err != nil {
		return fmt.Errorf("read the cluster's slots: %w", r.Err)
	}
	owners, err := readSlots(r.Value)
	if err == nil {
		s.owners.Store(owners)
	}
	return err
}

// readSlots reads the reply to CLUSTER SLOTS: rows of a first slot, a last slot, the primary, and its replicas.
func readSlots(reply any) (*[servers.Slots]string, error) {
	owners := new([servers.Slots]string)
	rows, ok := reply.([]any)
	for _, row := range rows {
		fields, _ := row.([]any)
		if len(fields) < 3 {
			return nil, errNoSlots
		}
		first, isFirst := fields[0].(int64)
		last, isLast := fields[1].(int64)
		primary, _ := fields[2].([]any)
		if !isFirst || !isLast || first < 0 || last >= servers.Slots || len(primary) < 2 {
			return nil, errNoSlots
		}
		host, _ := primary[0].(string) // "" if the cluster does not know it: the ports differ, or the ids
		port, _ := primary[1].(int64)
		address := net.JoinHostPort(host, strconv.FormatInt(port, 10))
		for slot := first; slot <= last; slot++ {
			owners[slot] = address
		}
	}
	if !ok {
		return nil, errNoSlots
	}
	return owners, nil
}

var errNoSlots = errors.New("read the cluster's slots: the reply has another form")
