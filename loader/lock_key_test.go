package loader_test

import (
	"testing"

	"github.com/rlfunc/rlfunc/loader"
)

func TestLockKey_avoidsMigratingSlots(t *testing.T) {
	const other = "b 10.0.0.2:6379@16379 master - 0 1 2 connected 0-16383\n"
	// Slots as CLUSTER KEYSLOT tells them: deploy:0 is in 2219, deploy:1 in 6282, deploy:2 in 10473, deploy:3 in 14536, deploy:4 in 2095.
	tests := []struct{ name, own, want string }{
		{"all slots", "0-16383", "rlfunc:{deploy:0}:lock"},
		{"a third", "5461-10922", "rlfunc:{deploy:1}:lock"},
		{"another third", "10923-16383", "rlfunc:{deploy:3}:lock"},
		{"scattered", "5 10473 12000-12001", "rlfunc:{deploy:2}:lock"},
		{"a slot that leaves", "2219 10473-10473 [2219->-b]", "rlfunc:{deploy:2}:lock"},
		{"a slot that leaves a range", "2000-2300 6282 [2219->-b]", "rlfunc:{deploy:1}:lock"},
		{"and one more", "2000-2300 [2219->-b]", "rlfunc:{deploy:4}:lock"},
		{"a slot that comes", "14536 [2219-<-b]", "rlfunc:{deploy:3}:lock"},
		{"none", "", ""},
		{"only one, that leaves", "2219 [2219->-b]", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := loader.LockKey(other + "a 10.0.0.1:6379@16379 myself,master - 0 1 1 connected " + tt.own + "\n")
			equal(t, "key and error", []any{tt.want, nil}, []any{got, err})
		})
	}
	if _, err := loader.LockKey(other); err == nil {
		t.Error("a list without its own node is read")
	}
}
