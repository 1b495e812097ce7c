package identity

import (
	"errors"
	"strings"
	"testing"
	"time"
)

var (
	oldKey = HMACKey{"old", []byte(strings.Repeat("o", 32))}
	newKey = HMACKey{"new", []byte(strings.Repeat("n", 32))}
	start  = time.Unix(1_800_000_000, 0)
)

// mustHMAC returns an HMAC with a fixed clock.
func mustHMAC(t testing.TB, now time.Time, keys ...HMACKey) *HMAC {
	t.Helper()
	h, err := NewHMAC(keys...)
	if err != nil {
		t.Fatal(err)
	}
	h.now = func() time.Time { return now }
	return h
}

func mustSign(t testing.TB, h *HMAC, challenge, hash string) string {
	t.Helper()
	value, err := h.Sign(challenge, hash, start.Add(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestHMAC_rejects(t *testing.T) {
	h := mustHMAC(t, start, oldKey)
	value := mustSign(t, h, "c1", "ab12")
	signature := value[strings.LastIndex(value, ".")+1:]
	for name, v := range map[string]string{
		"another hash":       strings.Replace(value, "ab12", "ab13", 1),
		"another challenge":  strings.Replace(value, "c1", "c2", 1),
		"a later expiry":     strings.Replace(value, "1800000060", "1800000061", 1),
		"a moved border":     "fp:c1:ab1.21800000060.old." + signature,
		"no signature":       "fp:c1:ab12.1800000060.old.",
		"no expiry":          "fp:c1:ab12.old." + signature,
		"another key's ID":   strings.Replace(value, ".old.", ".new.", 1),
		"no key ID":          strings.Replace(value, ".old.", ".", 1),
		"an empty key ID":    strings.Replace(value, ".old.", "..", 1),
		"five parts":         value + ".x",
		"a cut signature":    value[:len(value)-1],
		"padding":            value + "=",
		"a line end":         value + "\n",
		"bits that are lost": value[:len(value)-1] + string(value[len(value)-1]+1),
		"not signed":         "fp:c1:ab12",
		"no fingerprint":     "ab12",
		"nothing":            "",
		"1 MiB":              "fp:c1:" + strings.Repeat("a", 1<<20) + ".1800000060.old." + signature,
		"other key":          mustSign(t, mustHMAC(t, start, newKey), "c1", "ab12"),
	} {
		if hash, err := h.Verify(t.Context(), v); hash != "" || !errors.Is(err, ErrSignature) {
			t.Errorf("%s: got %q, %v", name, hash, err)
		}
	}
}

func TestHMAC_expires(t *testing.T) {
	value := mustSign(t, mustHMAC(t, start, oldKey), "c1", "ab12")
	for after, want := range map[time.Duration]error{59 * time.Second: nil, 60 * time.Second: ErrExpired, time.Hour: ErrExpired} {
		if _, err := mustHMAC(t, start.Add(after), oldKey).Verify(t.Context(), value); !errors.Is(err, want) {
			t.Errorf("after %v: want %v, got %v", after, want, err)
		}
	}
}

func TestHMAC_rotation(t *testing.T) {
	before, during, after := mustHMAC(t, start, oldKey, newKey), mustHMAC(t, start, newKey, oldKey), mustHMAC(t, start, newKey)
	for _, step := range []struct {
		name         string
		signs, reads *HMAC
		want         error
	}{
		{"the new key is known before it signs", during, before, nil},
		{"the old key is known after it signed", before, during, nil},
		{"the old key is gone", before, after, ErrSignature},
	} {
		if _, err := step.reads.Verify(t.Context(), mustSign(t, step.signs, "c1", "ab12")); !errors.Is(err, step.want) {
			t.Errorf("%s: want %v, got %v", step.name, step.want, err)
		}
	}
}

func TestHMAC_rejectsAmbiguousText(t *testing.T) {
	h := mustHMAC(t, start, oldKey)
	for _, c := range [][2]string{{"c:1", "h"}, {"", "h"}, {"c", ""}, {"c", "h.1"}, {"c", "h:1"}, {"c\n", "h"}, {"c", strings.Repeat("h", 129)}} {
		if value, err := h.Sign(c[0], c[1], start); err == nil {
			t.Errorf("%q: %s", c, value)
		}
	}
}

// Other keys that it rejects are those of a file.
func TestNewHMAC_rejectsManyKeys(t *testing.T) {
	if _, err := NewHMAC(make([]HMACKey, 17)...); err == nil || err.Error() != "an HMAC must have 1 to 16 keys, got 17" {
		t.Error(err)
	}
}
