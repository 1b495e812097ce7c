package embedded

import "github.com/rlfunc/rlfunc/embedded/internal/command"

// A Snapshot is what a Server held at one moment.
type Snapshot struct{ state command.Snapshot }

// Snapshot copies all keys with their expiries, and notes which libraries are loaded.
func (s *Server) Snapshot() *Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Idle()
	return &Snapshot{s.state.Snapshot()}
}

// Restore brings back the keys and the libraries of a snapshot, of this server or another one. It may be called again with the same
// snapshot. The clock stays, so keys may have expired; so do connections, the configuration, and what the locals of a library hold.
func (s *Server) Restore(snapshot *Snapshot) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Idle()
	s.state.Restore(snapshot.state)
}
