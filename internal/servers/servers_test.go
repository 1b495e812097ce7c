package servers

import "testing"

// The slots are those that CLUSTER KEYSLOT of Redis 7.0 returns.
func TestSlot_agreesWithRedis(t *testing.T) {
	for key, want := range map[string]int{
		"": 0, "a": 15495, "foo": 12182, "{user}:x": 5474, "x{user}": 5474, "{}a": 10875, "a{": 14311, "a{}{b}": 15033,
		"{{a}}": 10276, "a}b{c}": 7365, "{a}{b}": 15495, "é{ü}": 9552,
	} {
		if got := Slot(key); got != want {
			t.Errorf("%q: %d, want %d", key, got, want)
		}
	}
}
