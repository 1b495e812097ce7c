package store

import (
	"fmt"
	"testing"
)

func TestEvict_removesTheKeyThatWasUsedLeastRecently(t *testing.T) {
	var d DB
	for i := range 5 {
		d.SetString(fmt.Sprint(i), "v", Never)
	}
	d.Get("0", 0)                    // read
	d.SetString("1", "w", Never)     // written
	d.Put("2", *d.Create("l", List)) // replaced, by one that is in the order itself
	d.Delete("3")
	want := []string{"4", "0", "1", "l", "2"}
	for _, key := range want {
		if d.oldest == nil || d.oldest.key != key {
			t.Fatalf("the least recently used key is %v, want %s of %v", d.oldest, key, want)
		}
		if !d.Evict() {
			t.Fatal("nothing is evicted")
		}
	}
	if d.Evict() || d.Len() != 0 || d.Used() != 0 || d.Evicted() != 5 || d.newest != nil {
		t.Errorf("%d keys of %d bytes left, %d evicted", d.Len(), d.Used(), d.Evicted())
	}
}
