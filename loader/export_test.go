package loader

import (
	"fmt"
	"testing"
	"time"
)

// SetLockTimes makes locks shorter for a test.
func SetLockTimes(t *testing.T, ttl, renew time.Duration) {
	oldTTL, oldRenew := lockTTL, lockRenew
	lockTTL, lockRenew = ttl, renew
	t.Cleanup(func() { lockTTL, lockRenew = oldTTL, oldRenew })
}

// LockKey is the key of the lock on a node whose CLUSTER NODES has this text.
var LockKey = memberLockKey

// EventText is what the history keeps of an event with these changes, each of another node.
func EventText(e Event, changes []EventChange) ([]byte, error) {
	var all []nodeChange
	for i, c := range changes {
		all = append(all, nodeChange{fmt.Sprintf("%0200d:6379", i), c})
	}
	e.Changes = grouped(all)
	return e.text()
}
