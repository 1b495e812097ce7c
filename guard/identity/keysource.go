package identity

import (
	"fmt"
	"sync/atomic"
)

// A keySource is a file or URL of keys.
type keySource struct {
	name   string
	keys   atomic.Pointer[[]key] // nil before a URL has answered; another pointer whenever they change
	wanted chan struct{}         // of a URL: a token names a key that is not known
	*file                        // nil of a URL
}

func newKeySource(name string) (*keySource, error) {
	s := &keySource{name: name}
	if isURL(name) {
		s.wanted = make(chan struct{}, 1)
		return s, nil
	}
	s.file = &file{path: name, most: maxKeySet, apply: func(content []byte) error {
		if err := s.set(content, true); err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		return nil
	}}
	return s, s.file.load()
}

func (s *keySource) set(content []byte, secrets bool) error {
	keys, err := parseKeys(content, secrets)
	if err == nil {
		s.keys.Store(&keys)
	}
	return err
}

// want asks for a fetch, and does not wait. It does nothing for a file.
func (s *keySource) want() {
	select {
	case s.wanted <- struct{}{}:
	default:
	}
}
