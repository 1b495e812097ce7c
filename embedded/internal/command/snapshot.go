package command

import (
	"slices"

	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// A Snapshot is a copy of all keys, and the sources of all libraries.
type Snapshot struct {
	dbs       [Databases]map[string]store.Entry
	libraries []string // their sources
}

// Snapshot copies the keys and the libraries.
func (s *State) Snapshot() Snapshot {
	snapshot := Snapshot{libraries: s.Functions.Codes()}
	now := s.now().UnixMilli()
	for i := range s.DBs {
		if s.DBs[i].Len() == 0 {
			continue
		}
		snapshot.dbs[i] = make(map[string]store.Entry, s.DBs[i].Len())
		s.DBs[i].Each(now, func(key string, e *store.Entry) { snapshot.dbs[i][key] = e.Clone() })
	}
	return snapshot
}

// Restore brings them back. Libraries that are unchanged keep their state.
func (s *State) Restore(snapshot Snapshot) {
	if !slices.Equal(s.Functions.Codes(), snapshot.libraries) {
		s.Functions.Flush()
		for _, code := range snapshot.libraries {
			_, _ = s.Functions.Load(code, false) // it was loaded before: there is nothing in it to refuse
		}
	}
	for i := range s.DBs {
		s.DBs[i].Flush()
		for key, e := range snapshot.dbs[i] {
			s.DBs[i].Put(key, e.Clone())
		}
	}
}
