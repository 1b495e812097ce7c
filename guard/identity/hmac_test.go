package identity

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

var (
	oldKey = []byte(strings.Repeat("o", 32))
	newKey = []byte(strings.Repeat("n", 32))
	start  = time.Unix(1_800_000_000, 0)
)

// mustHMAC makes one whose clock stands.
func mustHMAC(t testing.TB, now time.Time, keys ...[]byte) *HMAC {
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

func TestHMAC_verifiesWhatItSigned(t *testing.T) {
	h := mustHMAC(t, start, oldKey)
	value := mustSign(t, h, "c1", "ab12")
	// printf 'ab12.1800000060.c1' | openssl dgst -sha256 -hmac oooooooooooooooooooooooooooooooo -binary | basenc --base64url
	if want := "fp:c1:ab12.1800000060.fR3o8A5iDR9yvZzEeduyXnPYTI7eSqWQG3rkVbCFgbI"; value != want {
		t.Errorf("want %s, got %s", want, value)
	}
	if hash, err := h.Verify(t.Context(), value); hash != "ab12" || err != nil {
		t.Errorf("got %q, %v", hash, err)
	}
}

func TestHMAC_refuses(t *testing.T) {
	h := mustHMAC(t, start, oldKey)
	value := mustSign(t, h, "c1", "ab12")
	signature := value[strings.LastIndex(value, ".")+1:]
	for name, v := range map[string]string{
		"another hash":       strings.Replace(value, "ab12", "ab13", 1),
		"another challenge":  strings.Replace(value, "c1", "c2", 1),
		"a later expiry":     strings.Replace(value, "1800000060", "1800000061", 1),
		"a moved border":     "fp:c1:ab1.21800000060." + signature,
		"no signature":       "fp:c1:ab12.1800000060.",
		"no expiry":          "fp:c1:ab12." + signature,
		"a cut signature":    value[:len(value)-1],
		"padding":            value + "=",
		"a line end":         value + "\n",
		"bits that are lost": value[:len(value)-1] + string(value[len(value)-1]+1),
		"not signed":         "fp:c1:ab12",
		"no fingerprint":     "ab12",
		"nothing":            "",
		"1 MiB":              "fp:c1:" + strings.Repeat("a", 1<<20) + ".1800000060." + signature,
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

func TestHMAC_signsNothingThatReadsTwoWays(t *testing.T) {
	h := mustHMAC(t, start, oldKey)
	for _, c := range [][2]string{{"c:1", "h"}, {"", "h"}, {"c", ""}, {"c", "h.1"}, {"c", "h:1"}, {"c\n", "h"}, {"c", strings.Repeat("h", 129)}} {
		if value, err := h.Sign(c[0], c[1], start); err == nil {
			t.Errorf("%q: %s", c, value)
		}
	}
	if _, err := NewHMAC([]byte("short")); err == nil {
		t.Error("a short key was taken")
	}
	if _, err := NewHMAC(); err == nil {
		t.Error("no key was taken")
	}
}

func TestIdentify_anUnverifiedFingerprintIsNone(t *testing.T) {
	h := mustHMAC(t, start, oldKey)
	id := mustNew(t, Config{From: []Source{Fingerprint, IP}, Verifier: h})
	signed := mustSign(t, h, "c1", "ab12")
	if got, err := id.Identify(request("X-Fingerprint", signed)); err != nil ||
		got != (Identity{Subject: "fp=ab12", Receipt: signed, Challenge: "c1", Source: Fingerprint}) {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, value := range []string{"fp:c1:ab12", signed + "x", "ab12"} {
		if got, err := id.Identify(request("X-Fingerprint", value)); err != nil || got.Source != IP {
			t.Errorf("%s: got %+v, %v", value, got, err)
		}
	}
}

func BenchmarkHMAC_Verify(b *testing.B) {
	h := mustHMAC(b, start, oldKey, newKey)
	value := mustSign(b, h, "c1", "ab12")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := h.Verify(context.Background(), value); err != nil {
			b.Fatal(err)
		}
	}
}
