package identity

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// request has one value for each header, given in pairs.
func request(headers ...string) *http.Request {
	r := &http.Request{RemoteAddr: "192.0.2.1:4711", Header: http.Header{}}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func mustNew(t testing.TB, c Config) *Identifier {
	t.Helper()
	id, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestIdentify_fingerprints(t *testing.T) {
	id := mustNew(t, Config{From: []Source{Fingerprint, IP}})
	long := strings.Repeat("a", 1<<20)
	for name, c := range map[string]struct {
		value string
		want  Identity
	}{
		"whole":           {"fp:c1:ab12", Identity{Subject: "fp=ab12", Receipt: "fp:c1:ab12", Challenge: "c1", Source: Fingerprint}},
		"other challenge": {"fp:c2:ab12", Identity{Subject: "fp=ab12", Receipt: "fp:c2:ab12", Challenge: "c2", Source: Fingerprint}},
		"as it stands":    {"ab12", Identity{Subject: "fp=ab12", Source: Fingerprint}},
		"IPv6":            {"2001:db8::1:7334", Identity{Subject: "fp=2001:db8::1:7334", Source: Fingerprint}},
		"its neighbour":   {"2002:db9::2:7334", Identity{Subject: "fp=2002:db9::2:7334", Source: Fingerprint}},
		"four parts":      {"fp:a:b:c", Identity{Subject: "fp=fp:a:b:c", Source: Fingerprint}},
		"two parts":       {"fp:a", Identity{Subject: "fp=fp:a", Source: Fingerprint}},
		"no challenge":    {"fp::ab12", Identity{Subject: "fp=fp::ab12", Source: Fingerprint}},
		"no hash":         {"fp:a:", Identity{Subject: "fp=fp:a:", Source: Fingerprint}},
		"capitals":        {"FP:a:b", Identity{Subject: "fp=FP:a:b", Source: Fingerprint}},
		"CR LF": {"fp:c1:a\r\nb", Identity{
			Subject: "fp=~18745f36a05e29072709042d6062ce54", Receipt: "~56e09fdbe488a1d3993eaae5b0dacffe", Challenge: "c1", Source: Fingerprint,
		}},
		"NUL":           {"\x00", Identity{Subject: "fp=~6e340b9cffb37a989ca544e6bb780a2c", Source: Fingerprint}},
		"invalid UTF-8": {"\xff", Identity{Subject: "fp=~a8100ae6aa1940d0b663bb31cd466142", Source: Fingerprint}},
		"1 MiB":         {long, Identity{Subject: "fp=~9bc1b2a288b26af7257a36277ae3816a", Source: Fingerprint}},
		"empty":         {"", Identity{Subject: "ip=192.0.2.1", Source: IP}},
	} {
		got, err := id.Identify(request("X-Fingerprint", c.value))
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestIdentify_whatIsFoldedNeverMeets(t *testing.T) {
	id := mustNew(t, Config{From: []Source{Fingerprint}})
	long := strings.Repeat("a", maxValue)
	seen := map[string]string{}
	for _, value := range []string{long, long + "a", long + "b", "a\x00", "a\x00\x00", "a\n", "a"} {
		subject := mustIdentify(t, id, value).Subject
		for _, v := range []string{value, strings.TrimPrefix(subject, "fp=")} { // a folded value, sent as it is, is another
			s := mustIdentify(t, id, v).Subject
			if other, ok := seen[s]; ok && other != v {
				t.Errorf("%.20q and %.20q are both %s", other, v, s)
			}
			seen[s] = v
		}
	}
	a, b := mustIdentify(t, id, "fp:"+long+"a:h"), mustIdentify(t, id, "fp:"+long+"b:h")
	if a.Subject != b.Subject || a.Receipt == b.Receipt || a.Challenge == b.Challenge || len(a.Receipt) > maxReceipt || len(a.Challenge) > maxChallenge {
		t.Errorf("long challenges: %+v, %+v", a, b)
	}
}

func mustIdentify(t *testing.T, id *Identifier, fingerprint string) Identity {
	t.Helper()
	got, err := id.Identify(request("X-Fingerprint", fingerprint))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestIdentify_apiKeys(t *testing.T) {
	hashed := mustNew(t, Config{From: []Source{APIKey, IP}})
	plain := mustNew(t, Config{From: []Source{APIKey, IP}, APIKeyHeader: "x-partner", PlainKeys: true})
	address := Identity{Subject: "ip=192.0.2.1", Source: IP}
	for name, c := range map[string]struct {
		id   *Identifier
		r    *http.Request
		want Identity
	}{
		"hashed":    {hashed, request("X-API-Key", "internal"), Identity{Subject: "key=3bed2cb3a3acf7b6a8ef408420cc682d", Source: APIKey}},
		"plain":     {plain, request("X-Partner", "internal"), Identity{Subject: "key=internal", Source: APIKey}},
		"none":      {hashed, request(), address},
		"empty":     {hashed, request("X-API-Key", ""), address},
		"two lines": {hashed, request("X-API-Key", "a", "X-API-Key", "a"), address},
	} {
		got, err := c.id.Identify(c.r)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestIdentify_ownFunction(t *testing.T) {
	broken := errors.New("the session store is down")
	id := mustNew(t, Config{Func: func(r *http.Request) (Identity, error) {
		switch user := r.Header.Get("User"); user {
		case "":
			return Identity{}, ErrNone
		case "broken":
			return Identity{}, broken
		case "nobody":
			return Identity{}, nil
		default:
			return Identity{Subject: "user=" + user, Receipt: strings.Repeat("r", 300)}, nil
		}
	}})
	if got, err := id.Identify(request("User", "ann")); err != nil || got.Subject != "user=ann" || got.Source != Custom || len(got.Receipt) > maxReceipt {
		t.Errorf("got %+v, %v", got, err)
	}
	for _, r := range []*http.Request{request(), request("User", "nobody")} {
		if got, err := id.Identify(r); err != nil || got.Subject != "ip=192.0.2.1" {
			t.Errorf("got %+v, %v", got, err)
		}
	}
	if _, err := id.Identify(request("User", "broken")); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func TestNew_refusesWhatContradicts(t *testing.T) {
	for want, c := range map[string]Config{
		"identity: From[0] must be the last: every request has an address":           {From: []Source{IP, APIKey}},
		"identity: From[1] is there twice: api_key":                                  {From: []Source{APIKey, APIKey}},
		`identity: From[0] must be fingerprint, api_key, ip or custom, got "cookie"`: {From: []Source{"cookie"}},
		"identity: From[0] has no Func":                                              {From: []Source{Custom}},
		"identity: IPv6Prefix must be 1 to 128, got 129":                             {IPv6Prefix: 129},
	} {
		if _, err := New(c); err == nil || err.Error() != want {
			t.Errorf("want %s, got %v", want, err)
		}
	}
}
