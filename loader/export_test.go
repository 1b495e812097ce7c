package loader

import (
	"fmt"
	"testing"
	"time"

	"github.com/rlfunc/rlfunc/loader/internal/lock"
)

// SetLockTimes makes locks shorter for a test.
func SetLockTimes(t *testing.T, ttl, renew time.Duration) {
	oldTTL, oldRenew := lock.TTL, lock.RenewEvery
	lock.TTL, lock.RenewEvery = ttl, renew
	t.Cleanup(func() { lock.TTL, lock.RenewEvery = oldTTL, oldRenew })
}

// LockKey returns the key of the lock on a node whose CLUSTER NODES has this text.
var LockKey = clusterLockKey

// EventText returns the history's text of an event with these changes, each on another node.
func EventText(e Event, changes []EventChange) ([]byte, error) {
	var all []nodeChange
	for i, c := range changes {
		all = append(all, nodeChange{fmt.Sprintf("%0200d:6379", i), c})
	}
	e.Changes = grouped(all)
	return e.text()
}
