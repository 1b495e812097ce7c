package identity

import (
	"crypto/sha256"
	"time"

	"github.com/maypok86/otter/v2"
)

const (
	maxCached  = 5 * time.Minute // before a token is verified again
	cacheBytes = 8 << 20         // of all tokens of a Reader
	tokenBytes = 256             // of a cached token without its claims
)

// A tokenCache holds valid tokens by SHA-256, and evicts the least used ones. It does not hold invalid tokens, of which a client can
// make any number.
type tokenCache struct {
	tokens interface { // an otter.Cache; see refusals.Cache
		GetIfPresent(tokenID) (*cachedToken, bool)
		Set(tokenID, *cachedToken) (*cachedToken, bool)
		Invalidate(tokenID) (*cachedToken, bool)
	}
}

type tokenID struct {
	verification int
	digest       [sha256.Size]byte
}

type cachedToken struct {
	keys  *[]key // that verified it; with other keys, the entry is stale
	until time.Time
	texts []string
}

func newTokenCache() *tokenCache {
	return &tokenCache{otter.Must(&otter.Options[tokenID, *cachedToken]{
		MaximumWeight: cacheBytes,
		Weigher: func(_ tokenID, t *cachedToken) uint32 {
			weight := tokenBytes
			for _, text := range t.texts {
				weight += len(text)
			}
			return uint32(weight)
		},
	})}
}

// find returns the claims of a token that is valid at now, if keys are still those that verified it.
func (c *tokenCache) find(id tokenID, keys *[]key, now time.Time) ([]string, bool) {
	t, ok := c.tokens.GetIfPresent(id)
	if !ok {
		return nil, false
	}
	if t.keys != keys || now.After(t.until) {
		c.tokens.Invalidate(id)
		return nil, false
	}
	return t.texts, true
}

func (c *tokenCache) keep(id tokenID, keys *[]key, texts []string, now, expires time.Time) {
	until := now.Add(maxCached)
	if expires.Before(until) {
		until = expires
	}
	c.tokens.Set(id, &cachedToken{keys: keys, until: until, texts: texts})
}
