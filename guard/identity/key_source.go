package identity

import (
	"fmt"
	"sync/atomic"

	"github.com/rlfunc/rlfunc/internal/reload"
)

// A keySource is a file or URL of keys.
type keySource struct {
	name    string
	keys    atomic.Pointer[[]key] // nil before the first response of a URL; a new pointer after each change
	refresh chan struct{}         // for a URL: a token names an unknown key
	file    *reload.Files         // nil for a URL
}

func newKeySource(name string) (*keySource, error) {
	s := &keySource{name: name}
	if isURL(name) {
		s.refresh = make(chan struct{}, 1)
		return s, nil
	}
	s.file = reload.File(name, maxKeySet, func(content []byte) error {
		if err := s.set(content, true); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		return nil
	})
	return s, s.file.Load()
}

func (s *keySource) set(content []byte, secrets bool) error {
	keys, err := parseKeys(content, secrets)
	if err == nil {
		s.keys.Store(&keys)
	}
	return err
}

// requestRefresh requests a fetch without waiting for it. It does nothing for a file.
func (s *keySource) requestRefresh() {
	select {
	case s.refresh <- struct{}{}:
	default:
	}
}
