package identity

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/internal/reload"
)

// Options configure how a Reader fetches and reloads. The zero value is useful.
type Options struct {
	// Client fetches keys. It follows redirects to https only, and each fetch ends after 10 s. Defaults to a client on
	// http.DefaultTransport.
	Client *http.Client
	// OnReload is called after a file or URL was read again: without an error once it has other content, or works after a
	// failure; with an error whenever it fails, and then the content from before stays in use, but after ErrNoDigests. It
	// runs in the background, never twice at a time for one source, and must not call Close. Defaults to a warning in
	// slog's default logger for each error.
	OnReload func(source string, err error)
}

// complete returns options with defaults.
func (o Options) complete() Options {
	o.Client = fetcher(o.Client)
	if o.OnReload == nil {
		o.OnReload = func(source string, err error) {
			switch {
			case errors.Is(err, ErrNoDigests):
				slog.Warn("identity reloaded; all values are revoked", "source", source, "error", err)
			case err != nil:
				slog.Warn("identity not reloaded; the old content stays in use", "source", source, "error", err)
			}
		}
	}
	return o
}

// fetcher returns a copy of a client that follows redirects to https only.
func fetcher(client *http.Client) *http.Client {
	var c http.Client
	if client != nil {
		c = *client
	}
	next := c.CheckRedirect
	c.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if len(via) >= 3 {
			return errors.New("more than 3 redirects")
		}
		if err := checkKeyURL(r.URL, false); err != nil {
			return fmt.Errorf("redirect target %w", err)
		}
		if next != nil {
			return next(r, via)
		}
		return nil
	}
	return &c
}

// isToken reports whether text is a token (RFC 9110, 5.6.2): the name of a header or cookie.
func isToken(text string) bool {
	for i := range len(text) {
		if c := text[i]; !isAlnum(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return false
		}
	}
	return text != ""
}

// pollInterval is the interval between checks of files.
const pollInterval = 2 * time.Second

// A Reader reads the identities of requests. It is safe for concurrent use.
type Reader struct {
	proxies
	sources       []source
	verifications []verification
	tokens        *tokenCache // nil without verifications
	now           func() time.Time

	files  []*reload.Files
	report func(source string, err error)
	stop   context.CancelFunc
	ended  sync.WaitGroup
}

// A source is one identity, prepared for Read.
type source struct {
	Identity
	name         string
	prefix       string // such as "user="
	address      bool
	read         Func
	verify       Verifier
	verification int // for a JWT: index in Reader.verifications
	claim        int // for a JWT: index in verification.claims
}

// A reloadable verifier may read a file.
type reloadable interface{ files() *reload.Files }

// New returns a reader of identities by their names, which Package policy has checked. It reads key files, and starts to fetch key URLs in the
// background. Call Close to stop background work.
func New(identities map[string]Identity, code Code, o Options) (*Reader, error) {
	if len(identities) > maxIdentities {
		return nil, fmt.Errorf("identities: must be at most %d, got %d", maxIdentities, len(identities))
	}
	if err := code.checkUnused(identities); err != nil {
		return nil, err
	}
	o = o.complete()
	r := &Reader{now: time.Now, report: o.OnReload, stop: func() {}}
	if err := r.proxies.set(identities[IP]); err != nil {
		return nil, fmt.Errorf("identities.%s.trusted_proxies: %w", IP, err)
	}
	keys := map[string]*keySource{}
	for _, name := range slices.Sorted(maps.Keys(identities)) {
		id := identities[name].complete(name)
		if len(id.First) > 0 {
			continue
		}
		s := source{Identity: id, name: name, prefix: name + "=", address: id.IsAddress(name)}
		var err error
		if id.JWT != nil {
			s.verification, s.claim, err = r.verification(&id, keys)
		} else {
			s.read, s.verify, err = id.code(name, code)
		}
		if err != nil {
			return nil, fmt.Errorf("identities.%s: %w", name, err)
		}
		if v, ok := s.verify.(reloadable); ok && v.files() != nil && !slices.Contains(r.files, v.files()) {
			r.files = append(r.files, v.files())
		}
		r.sources = append(r.sources, s)
	}
	r.start(o, keys)
	return r, nil
}

// verification returns the indexes of a JWT's verification, which it shares with JWTs that differ only in Claim, and of its claim.
func (r *Reader) verification(c *Identity, keys map[string]*keySource) (at, nth int, err error) {
	shared, asked := *c.JWT, claim{c.JWT.Claim, c.OneOf}
	shared.Claim = ""
	for i := range r.verifications {
		if v := &r.verifications[i]; v.JWT == shared {
			v.claims = append(v.claims, asked)
			return i, len(v.claims) - 1, nil
		}
	}
	from, ok := keys[shared.Keys]
	if !ok {
		if from, err = newKeySource(shared.Keys); err != nil {
			return 0, 0, err
		}
		keys[shared.Keys] = from
		if from.file != nil {
			r.files = append(r.files, from.file)
		}
	}
	if r.tokens == nil {
		r.tokens = newTokenCache()
	}
	i := len(r.verifications)
	r.verifications = append(r.verifications, verification{JWT: shared, claims: []claim{asked}, keys: from, index: i, cache: r.tokens})
	return i, 0, nil
}

// start starts the background work, if there is any.
func (r *Reader) start(o Options, keys map[string]*keySource) {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	for _, from := range keys {
		if from.file == nil {
			f := &fetch{source: from, client: o.Client, report: r.report}
			r.ended.Go(func() { f.run(ctx) })
		}
	}
	if len(r.files) > 0 {
		r.ended.Go(reload.Follow(ctx, pollInterval, r.report, r.files...))
	}
}

// Close stops the reloading of files and URLs and waits for its end. Read keeps working with the current keys. Close returns
// nil.
func (r *Reader) Close() error {
	r.stop()
	r.ended.Wait()
	return nil
}
