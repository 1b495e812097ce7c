package identity

import (
	"crypto/sha256"
	"time"

	"github.com/maypok86/otter/v2"
)

const (
	maxCached  = 5 * time.Minute // that a token counts without another verification
	cacheBytes = 8 << 20         // of a Reader's tokens
	tokenBytes = 256             // of a cached token, beside its claims
)

// A tokenCache holds tokens that verified, by SHA-256: not those that did not, which a client could make up without end. The least used
// ones make room.
type tokenCache struct {
	tokens *otter.Cache[tokenID, *cachedToken]
}

type tokenID struct {
	verification int
	digest       [sha256.Size]byte
}

type cachedToken struct {
	keys  *[]key // that it verified by: it counts for no others
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

// find returns the texts of a token that counts at a time, by keys that are still those of its source.
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
