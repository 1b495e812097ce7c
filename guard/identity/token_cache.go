package identity

import (
	"crypto/sha256"
	"time"

	"github.com/maypok86/otter/v2"
)

const (
	maxCached    = 5 * time.Minute // before a token is verified again
	cacheBytes   = 8 << 20         // of all valid tokens of a Reader
	refusedBytes = 1 << 20         // of all refused tokens
	tokenBytes   = 256             // of a cached token without its claims
)

// A tokenCache holds the outcome of tokens by SHA-256, and evicts the least used ones. Refused tokens, of which a client can make any number,
// evict no valid ones.
type tokenCache struct{ valid, refused tokenStore }

// A tokenStore is an otter.Cache; see refusals.Cache.
type tokenStore interface {
	GetIfPresent(tokenID) (*cachedToken, bool)
	Set(tokenID, *cachedToken) (*cachedToken, bool)
	Invalidate(tokenID) (*cachedToken, bool)
}

type tokenID struct {
	verification int
	digest       [sha256.Size]byte
}

type cachedToken struct {
	keys        *[]key // with which it was verified; with other keys, the entry is stale
	from, until time.Time
	texts       []string // nil if it was refused
}

func newTokenCache() *tokenCache {
	return &tokenCache{valid: newTokenStore(cacheBytes), refused: newTokenStore(refusedBytes)}
}

func newTokenStore(bytes uint64) tokenStore {
	return otter.Must(&otter.Options[tokenID, *cachedToken]{
		MaximumWeight: bytes,
		Weigher: func(_ tokenID, t *cachedToken) uint32 {
			weight := tokenBytes
			for _, text := range t.texts {
				weight += len(text)
			}
			return uint32(weight)
		},
	})
}

// find returns the claims of a token that is valid at now, or nil for one that was refused, if keys are still those that verified it.
func (c *tokenCache) find(id tokenID, keys *[]key, now time.Time) (texts []string, known bool) {
	for _, store := range []tokenStore{c.valid, c.refused} {
		t, ok := store.GetIfPresent(id)
		if !ok {
			continue
		}
		if t.keys == keys && !now.Before(t.from) && !now.After(t.until) {
			return t.texts, true
		}
		store.Invalidate(id)
	}
	return nil, false
}

// keep keeps the claims of a token until it expires.
func (c *tokenCache) keep(id tokenID, keys *[]key, texts []string, now, expires time.Time) {
	until := now.Add(maxCached)
	if expires.Before(until) {
		until = expires
	}
	c.valid.Set(id, &cachedToken{keys: keys, until: until, texts: texts})
}

// refuse keeps that a token is refused from now until another time.
func (c *tokenCache) refuse(id tokenID, keys *[]key, now, until time.Time) {
	if longest := now.Add(maxCached); longest.Before(until) {
		until = longest
	}
	c.refused.Set(id, &cachedToken{keys: keys, from: now, until: until})
}
