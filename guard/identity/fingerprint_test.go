package identity

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRead_claimedFingerprints(t *testing.T) {
	r := mustNew(t, Options{}, Config{Name: "fp", Fingerprint: "X-Fingerprint"})
	for name, c := range map[string]struct{ value, want string }{
		"whole":           {"fp:c1:ab12", "fp=ab12"},
		"other challenge": {"fp:c2:ab12", "fp=ab12"},
		"as it is":        {"ab12", "fp=ab12"},
		"IPv6":            {"2001:db8::1:7334", "fp=2001:db8::1:7334"},
		"its neighbor":    {"2002:db9::2:7334", "fp=2002:db9::2:7334"},
		"four parts":      {"fp:a:b:c", "fp=fp:a:b:c"},
		"two parts":       {"fp:a", "fp=fp:a"},
		"no challenge":    {"fp::ab12", "fp=fp::ab12"},
		"no hash":         {"fp:a:", "fp=fp:a:"},
		"capitals":        {"FP:a:b", "fp=FP:a:b"},
		"CR LF":           {"fp:c1:a\r\nb", "fp=~18745f36a05e29072709042d6062ce54"},
		"NUL":             {"\x00", "fp=~6e340b9cffb37a989ca544e6bb780a2c"},
		"invalid UTF-8":   {"\xff", "fp=~a8100ae6aa1940d0b663bb31cd466142"},
		"1 MiB":           {strings.Repeat("a", 1<<20), "fp=~9bc1b2a288b26af7257a36277ae3816a"},
	} {
		got, err := r.Read(request("X-Fingerprint", c.value), nil) // neither Challenge nor Receipt: the client chose the value
		if diff := cmp.Diff(Found{Subjects: []string{c.want}}, got, withoutAddr); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestRead_verifiedFingerprints(t *testing.T) {
	h := mustHMAC(t, start, oldKey)
	r := mustNew(t, Options{}, Config{Name: "device", Fingerprint: "X-Fingerprint", Verify: h})
	signed, other := mustSign(t, h, "c1", "ab12"), mustSign(t, h, "c2", "ab12")
	longest := mustSign(t, h, strings.Repeat("c", maxChallenge), strings.Repeat("h", maxHash))
	for name, c := range map[string]struct {
		lines []string
		want  Found
	}{
		"signed":             {[]string{signed}, Found{Subjects: []string{"device=ab12"}, Challenge: "c1", Receipt: signed}},
		"not signed":         {[]string{"fp:c1:ab12"}, Found{Also: []string{"device=ab12"}}},
		"changed":            {[]string{signed + "x"}, Found{Also: []string{"device=ab12"}}},
		"of no form":         {[]string{"ab12"}, Found{Also: []string{"device=ab12"}}},
		"and another device": {[]string{"fp:c1:cd34", signed}, Found{Subjects: []string{"device=ab12"}, Also: []string{"device=cd34"}, Challenge: "c1", Receipt: signed}},
		"longest": {[]string{longest}, Found{
			Subjects: []string{"device=" + strings.Repeat("h", maxHash)}, Challenge: strings.Repeat("c", maxChallenge), Receipt: shorten(longest, maxReceipt),
		}},
	} {
		req := request()
		req.Header["X-Fingerprint"] = c.lines
		got, err := r.Read(req, nil)
		if diff := cmp.Diff(c.want, got, withoutAddr); diff != "" || err != nil || len(got.Receipt) > maxReceipt {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
	if got, err := r.Read(request("X-Fingerprint", signed, "X-Fingerprint", other), nil); err == nil {
		t.Errorf("two that are signed: %+v", got)
	}
}

// Only Fingerprint sets Receipt, whatever the verifier is.
func TestRead_signedHeaderSetsNoReceipt(t *testing.T) {
	h := mustHMAC(t, start, oldKey)
	r := mustNew(t, Options{}, Config{Name: "device", Header: "X-Device", Verify: h})
	got, err := r.Read(request("X-Device", mustSign(t, h, "c1", "ab12")), nil)
	if diff := cmp.Diff(Found{Subjects: []string{"device=ab12"}}, got, withoutAddr); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}
