package functions

import (
	"encoding/base64"
	"strings"
	"testing"
)

// packed is what Redis 7.0.15 dumps for packedCode: the code is compressed by LZF.
const packed = "9cNAsUKOHyMhbHVhIG5hbWU9cGFja2VkCi0tIFRha2VzIGNvc3QgD3Rva2VucyBmcm9tIGEgYnUgIiAUFGhhdCByZWZpbGxzIHN0ZWFkaWx5OyAfBWNvbW1lbuAAIAxwZWF0cyBpdHNlbGYs4A4HAC7g/3DhtFIJcmVkaXMucmVnaSIOC3JfZnVuY3Rpb24oJ4JUBF9mJywg4AAUCmtleXMsIGFyZ3MpIkULdHVybiA3IGVuZCkKCgA9hAcbs+rlmg=="

var packedCode = "#!lua name=packed\n" +
	strings.Repeat("-- Takes cost tokens from a bucket that refills steadily; a comment that repeats itself, itself, itself, itself.\n", 5) +
	"redis.register_function('packed_f', function(keys, args) return 7 end)\n"

func TestRestore_readsTheDumpOfARealServer(t *testing.T) {
	payload, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		t.Fatal(err)
	}
	var r Registry
	if err := r.Restore(string(payload), Append); err != nil {
		t.Fatal(err)
	}
	if r.Find("PACKED_F") == nil || r.Libraries()[0].Code != packedCode {
		t.Errorf("restored code %q", r.Libraries()[0].Code)
	}
}

func TestRestore_refusesWhatIsCutShort(t *testing.T) {
	payload, err := base64.StdEncoding.DecodeString(packed)
	if err != nil {
		t.Fatal(err)
	}
	var r Registry
	for n := range len(payload) {
		if err := r.Restore(string(payload[:n]), Append); err == nil {
			t.Errorf("the first %d of %d bytes were restored", n, len(payload))
		}
	}
}

func FuzzCutString(f *testing.F) {
	payload, _ := base64.StdEncoding.DecodeString(packed)
	f.Add(payload[1:])
	f.Add([]byte{0xc3, 5, 9, 0, 'a', 0xe0, 1, 0})
	f.Fuzz(func(t *testing.T, p []byte) {
		if s, rest, ok := cutString(p); ok && len(rest) > len(p) {
			t.Errorf("cutString(%q) = %q, %q", p, s, rest)
		}
	})
}
