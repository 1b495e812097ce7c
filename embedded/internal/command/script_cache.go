package command

import (
	"container/list"
	"strings"

	"github.com/rlfunc/rlfunc/embedded/internal/luahost"
)

// maxEvals is how many scripts stay in the cache that EVAL alone has put there, as since Redis 7.4: of scripts that are made for each
// call, the one used least recently makes room. Those of SCRIPT LOAD stay.
const maxEvals = 500

// Scripts is the cache of EVAL and SCRIPT. Its zero value is empty and ready.
type Scripts struct {
	state  *luahost.Library // made by the first script
	cached map[string]*cachedScript
	evals  list.List // their SHAs, the one used last in front
	bytes  int64
}

type cachedScript struct {
	*luahost.Script
	place *list.Element // in evals, or nil
}

// Len is the number of cached scripts.
func (s *Scripts) Len() int { return len(s.cached) }

// Bytes is the size of their sources.
func (s *Scripts) Bytes() int64 { return s.bytes }

// State is the Lua state on which scripts run.
func (s *Scripts) State() *luahost.Library { return s.state }

// Find returns the script of this SHA, or nil. Case does not matter.
func (s *Scripts) Find(sha string) *luahost.Script {
	found := s.cached[sha]
	if found == nil {
		if found = s.cached[strings.ToLower(sha)]; found == nil {
			return nil
		}
	}
	if found.place != nil {
		s.evals.MoveToFront(found.place)
	}
	return found.Script
}

// Load compiles a script and caches it: until Flush if keep is set, else as one of EVAL.
func (s *Scripts) Load(body string, keep bool) (*luahost.Script, error) {
	sha := luahost.ScriptSHA(body)
	if found := s.cached[sha]; found != nil {
		if keep && found.place != nil {
			s.evals.Remove(found.place)
			found.place = nil
		}
		return found.Script, nil
	}
	if s.state == nil {
		s.state = luahost.NewScripts()
		s.cached = make(map[string]*cachedScript)
	}
	script, err := s.state.Compile(body)
	if err != nil {
		return nil, err
	}
	added := &cachedScript{Script: script}
	s.cached[sha] = added
	s.bytes += int64(script.Size)
	if !keep {
		added.place = s.evals.PushFront(sha)
		for s.evals.Len() > maxEvals {
			s.remove(s.evals.Back())
		}
	}
	return script, nil
}

func (s *Scripts) remove(place *list.Element) {
	sha := s.evals.Remove(place).(string) // the list has only SHAs
	s.bytes -= int64(s.cached[sha].Size)
	delete(s.cached, sha)
}

// Flush forgets all scripts, and what they have left in their Lua state.
func (s *Scripts) Flush() { *s = Scripts{} }
