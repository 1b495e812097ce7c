package identity

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rlfunc/rlfunc/internal/reload"
)

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
	Config
	prefix       string // such as "user="
	verification int    // for a JWT: index in Reader.verifications
	claim        int    // for a JWT: index in verification.claims
}

// A reloadable verifier may read a file.
type reloadable interface{ files() *reload.Files }

// New returns a reader of identities, in their order. It reads key files, and starts to fetch key URLs in the background.
// Call Close to stop background work.
func New(o Options, identities ...Config) (*Reader, error) {
	o, err := o.complete()
	if err != nil {
		return nil, fmt.Errorf("identity: %w", err)
	}
	if identities, err = complete(identities); err != nil {
		return nil, err
	}
	r := &Reader{
		proxies: proxies{trusted: o.TrustedProxies, header: o.ForwardedHeader, forwarded: o.ForwardedHeader == "Forwarded"},
		now:     time.Now, report: o.OnReload, stop: func() {},
	}
	keys := map[string]*keySource{}
	for _, c := range identities {
		s := source{Config: c, prefix: c.Name + "="}
		if c.JWT != nil {
			if s.verification, s.claim, err = r.verification(c.JWT, keys); err != nil {
				return nil, fmt.Errorf("identity %s: JWT.Keys: %w", c.Name, err)
			}
		}
		if v, ok := c.Verify.(reloadable); ok && v.files() != nil && !slices.Contains(r.files, v.files()) {
			r.files = append(r.files, v.files())
		}
		r.sources = append(r.sources, s)
	}
	r.start(o, keys)
	return r, nil
}

// verification returns the indexes of a JWT's verification, which it shares with JWTs that differ only in Claim, and of its claim.
func (r *Reader) verification(j *JWT, keys map[string]*keySource) (at, claim int, err error) {
	shared := *j
	shared.Claim = ""
	for i := range r.verifications {
		if v := &r.verifications[i]; v.JWT == shared {
			v.claims = append(v.claims, j.Claim)
			return i, len(v.claims) - 1, nil
		}
	}
	from, ok := keys[j.Keys]
	if !ok {
		if from, err = newKeySource(j.Keys); err != nil {
			return 0, 0, err
		}
		keys[j.Keys] = from
		if from.file != nil {
			r.files = append(r.files, from.file)
		}
	}
	if r.tokens == nil {
		r.tokens = newTokenCache()
	}
	i := len(r.verifications)
	r.verifications = append(r.verifications, verification{JWT: shared, claims: []string{j.Claim}, keys: from, index: i, cache: r.tokens})
	return i, 0, nil
}

// start starts the background work, if there is any.
func (r *Reader) start(o Options, keys map[string]*keySource) {
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	for _, from := range keys {
		if from.file == nil {
			f := &fetch{source: from, client: o.Client, refresh: o.KeyRefresh, report: r.report}
			r.ended.Go(func() { f.run(ctx) })
		}
	}
	if len(r.files) > 0 {
		r.ended.Go(func() { reload.Every(ctx, pollInterval, r.poll) })
	}
}

func (r *Reader) poll(now time.Time) {
	for _, file := range r.files {
		if changed, err := file.Poll(now); changed || err != nil {
			r.report(file.Paths[0], err)
		}
	}
}

// Close stops the reloading of files and URLs and waits for its end. Read keeps working with the current keys. Close returns
// nil.
func (r *Reader) Close() error {
	r.stop()
	r.ended.Wait()
	return nil
}
