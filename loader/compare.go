package loader

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/marks"
	"github.com/rlfunc/rlfunc/loader/internal/bundle"
)

// A State says how a library stands on a node, compared with the source.
type State string

// The states.
const (
	Same    State = "same"    // byte for byte
	Missing State = "missing" // no library of that name
	Older   State = "older"   // a lower version of the library
	Newer   State = "newer"   // a higher version of the library
	Drifted State = "drifted" // the same version, with other bytes
	Foreign State = "foreign" // no header of rlfunc, or that of another library
	Retired State = "retired" // a tombstone is in its place, until a deploy or a rollback
	Unknown State = "unknown" // the node could not be read
	// Of the steps of an operation:
	Conflicting State = "conflict" // another library has the name of one of its functions
	TooOld      State = "too_old"  // the node, or a replica of it, is older than the library requires
	Unusable    State = "unusable" // the node cannot be read, or refuses the load
)

// An Action is what an operation does about a library on a node. Where it does nothing, it is the library's [State].
type Action string

const (
	Load      Action = "load"            // the node has none
	Upgrade   Action = "upgrade"         // from a lower version
	Downgrade Action = "downgrade"       // from a higher version, by a rollback
	Delete    Action = "delete"          // a retire puts a tombstone in its place
	Bar       Action = "bar"             // a retire puts a tombstone where there is none
	Gone      Action = "already_missing" // a retire finds nothing to do
	Follow    Action = "follow"          // a replica: its primary's change reaches it
)

// A Step is one library on one node: how it stands there, what an operation does about it, and what came of that.
type Step struct {
	Library    string      `json:"library"` // "ratelimit_v1"
	State      State       `json:"state"`
	Action     Action      `json:"action,omitempty"`
	From       string      `json:"from,omitempty"`        // the version on the node before, if known
	FromDigest string      `json:"from_digest,omitempty"` // of the code on the node
	To         string      `json:"to,omitempty"`          // the version of the source; empty for a retire
	Difference *Difference `json:"difference,omitempty"`  // of a drifted library: the first difference
	Retired    time.Time   `json:"retired,omitzero"`      // when, if a tombstone is in its place
	Reason     string      `json:"reason,omitempty"`      // why it blocks

	// Of a Result. Unless Outcome is Failed, NotStarted or Unverified, the loader read the bytes back or did not change them.
	Outcome Outcome `json:"outcome,omitempty"`
	Found   string  `json:"found,omitempty"` // the version afterwards, if known
	Problem *Error  `json:"problem,omitempty"`
}

// A Difference is the first place where a node's code differs from the source.
type Difference struct {
	Line     int    `json:"line"`                // of the bundle; 1 is the first
	File     string `json:"file,omitempty"`      // the author's file, or empty for generated code
	FileLine int    `json:"file_line,omitempty"` // the line of File
	Want     string `json:"want"`                // the source's line, at most 160 bytes; empty after its end
	Found    string `json:"found"`               // the node's
}

// String returns the line of the author's file, or that of the bundle for generated code.
func (d *Difference) String() string {
	if d.File == "" {
		return fmt.Sprintf("line %d of what `rlfunc bundle` prints", d.Line)
	}
	return fmt.Sprintf("%s:%d", d.File, d.FileLine)
}

// drift describes a library of the same version with other bytes than from, such as "this source".
func drift(lib *fcall.Library, from string, d *Difference) string {
	return "the server's " + lib.ServerName + " " + lib.Version + " differs from " + from + ", first at " + d.String()
}

// compare returns how lib stands among the libraries of a node.
func compare(lib *fcall.Library, loaded []LoadedLibrary) Step {
	s := Step{Library: lib.ServerName, State: Missing, To: lib.Version}
	held := named(loaded, lib.ServerName)
	if held == nil {
		return s
	}
	s.From, s.FromDigest = held.Version, held.Digest
	order := semver.Compare("v"+held.Version, "v"+lib.Version)
	switch {
	case held.Code == lib.Code:
		s.State = Same
	case held.Name != lib.Name || held.Name == "":
		s.State = Foreign
	case !held.Retired.IsZero():
		s.State, s.From, s.Retired = Retired, "", held.Retired
	case order < 0:
		s.State = Older
	case order > 0:
		s.State = Newer
	default:
		s.State, s.Difference = Drifted, difference(lib, held.Code)
	}
	return s
}

func difference(lib *fcall.Library, found string) *Difference {
	wantLines, foundLines := strings.SplitAfter(lib.Code, "\n"), strings.SplitAfter(found, "\n")
	i := 0
	for i < len(wantLines) && i < len(foundLines) && wantLines[i] == foundLines[i] {
		i++
	}
	d := &Difference{Line: i + 1, Want: lineAt(wantLines, i), Found: lineAt(foundLines, i)}
	if file, line := lib.Locate(d.Line); file != "" {
		d.File, d.FileLine = file, line
	}
	return d
}

func lineAt(lines []string, i int) string {
	if i >= len(lines) {
		return ""
	}
	line := strings.TrimSuffix(lines[i], "\n")
	return line[:min(len(line), 160)]
}

// describe describes briefly how a library stands on a node.
func describe(s Step) string {
	switch s.State {
	case Missing:
		return "missing"
	case Retired:
		return "retired"
	case Foreign:
		return "another library"
	case Drifted:
		return s.From + " with other bytes"
	}
	return s.From
}

func named(libraries []LoadedLibrary, serverName string) *LoadedLibrary {
	i := slices.IndexFunc(libraries, func(l LoadedLibrary) bool { return l.ServerName == serverName })
	if i < 0 {
		return nil
	}
	return &libraries[i]
}

// ours reports whether rlfunc generated the library for its server name.
func (l LoadedLibrary) ours() bool {
	return l.Name != "" && strings.HasPrefix(l.ServerName, l.Name+"_v")
}

// present returns the highest version of a library on the primaries.
func present(states []NodeState, serverName string) *LoadedLibrary {
	var highest *LoadedLibrary
	for i := range states {
		if states[i].Follows != "" {
			continue
		}
		if l := held(states[i], serverName); l != nil && (highest == nil || semver.Compare("v"+l.Version, "v"+highest.Version) > 0) {
			highest = l
		}
	}
	return highest
}

// held returns the node's library of that name, if rlfunc generated it and it is not retired.
func held(state NodeState, serverName string) *LoadedLibrary {
	if l := named(state.Libraries, serverName); l != nil && l.Name != "" && l.Retired.IsZero() {
		return l
	}
	return nil
}

// foreignName says that a library's own name is taken.
func foreignName(serverName string) string {
	return "the name " + serverName + " belongs to a library that rlfunc did not make, or to another library of rlfunc"
}

// conflictOf says which of names a library other than own holds, or "". Names of functions are global on a server and compared
// without case.
func conflictOf(own string, names []string, loaded []LoadedLibrary) string {
	for _, name := range names {
		for _, l := range loaded {
			if l.ServerName == own {
				continue
			}
			if i := slices.IndexFunc(l.Functions, func(f string) bool { return strings.EqualFold(f, name) }); i >= 0 {
				return "function " + l.Functions[i] + " belongs to library " + l.ServerName
			}
		}
	}
	return ""
}

// tooOldFor returns why a server is not one that the library requires, or "".
func (s Server) tooOldFor(lib *fcall.Library) string {
	return marks.ReadHead(lib.Code).Requires.Refusal(lib.ServerName+" "+lib.Version, s.product())
}

func requiresServer(lib *fcall.Library) bool { return len(marks.ReadHead(lib.Code).Requires) > 0 }

// checkLibraries rejects libraries that the loader would not recognise once they are loaded.
func checkLibraries(op string, libs []*fcall.Library) error {
	if len(libs) == 0 {
		return &Error{Op: op, Reason: ErrLibrary, Text: "no library was given"}
	}
	seen := map[string]bool{}
	holder := map[string]string{}
	for _, lib := range libs {
		if lib == nil {
			return &Error{Op: op, Reason: ErrLibrary, Text: "a library is nil"}
		}
		refuse := func(why string) error {
			return &Error{Op: op, Library: lib.ServerName, Reason: ErrLibrary, Text: why}
		}
		m := marks.ReadHead(lib.Code)
		switch {
		case lib.ServerName == "" || bundle.ServerName(lib.Code) != lib.ServerName:
			return refuse("the code does not begin with `#!lua name=" + lib.ServerName + "`; generate it again")
		case m.Library != lib.Name || m.Version != lib.Version || m.Library == "":
			return refuse("the code's head does not say `" + marks.Head{Library: lib.Name, Version: lib.Version}.Line() + "`; generate it again")
		case seen[lib.ServerName]:
			return refuse("the library is given twice")
		}
		seen[lib.ServerName] = true
		for _, f := range bundle.Functions(lib.Code) {
			other, ok := holder[strings.ToLower(f)]
			if ok && other != lib.ServerName {
				return &Error{Op: op, Library: lib.ServerName, Reason: ErrConflict, Text: "function " + f + " is also in library " + other + ", and names are global on a server"}
			}
			holder[strings.ToLower(f)] = lib.ServerName
		}
	}
	return nil
}
