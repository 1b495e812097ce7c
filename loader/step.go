package loader

import (
	"fmt"
	"strings"

	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/fcall"
)

// An Op is an operation on a target.
type Op string

// The operations.
const (
	OpDeploy   Op = "deploy"
	OpRollback Op = "rollback"
	OpRetire   Op = "retire"

	opEnsure Op = "ensure"
)

// A State says how a library stands on a node, compared with what an operation wants there.
type State string

// The states. The second group needs an operator first.
const (
	Same    State = "same"    // byte for byte
	Missing State = "missing" // no library of that name
	Older   State = "older"   // a lower version of the library, which only a deploy replaces
	Newer   State = "newer"   // a higher version of the library
	Held    State = "held"    // what a retire removes

	Drifted     State = "drifted"  // the same version, with other bytes
	Foreign     State = "foreign"  // no header of rlfunc, or that of another library
	Conflicting State = "conflict" // another library has the name of one of its functions
	Unusable    State = "unusable" // the node cannot be read, or refuses the load
)

// An Action is what an operation does about a library on a node, and follows from its State. It is empty where nothing is to be done.
type Action string

// The actions.
const (
	Load      Action = "load"
	Upgrade   Action = "upgrade"
	Downgrade Action = "downgrade" // by a rollback
	Delete    Action = "delete"    // by a retire
	Follow    Action = "follow"    // a replica: its primary's change reaches it
)

// action is what an operation does about a library that stands so on a primary.
func (s State) action(op Op) Action {
	switch {
	case s == Held:
		return Delete
	case op == OpRetire:
		return ""
	case s == Missing:
		return Load
	case s == Older && op != opEnsure:
		return Upgrade
	case s == Newer && op == OpRollback:
		return Downgrade
	}
	return ""
}

// A Step is one library on one node: how it stands there, what an operation does about that, and what came of it.
type Step struct {
	Library    string `json:"library"` // "ratelimit_v1"
	State      State  `json:"state"`
	Action     Action `json:"action,omitempty"`
	From       string `json:"from,omitempty"`        // the version on the node before, if known
	FromDigest string `json:"from_digest,omitempty"` // of the code on the node
	To         string `json:"to,omitempty"`          // the version of the source; empty for a retire
	// Problem is why an operator has to act first; of a Result, what failed or why it was not tried. Where it is nil there, the loader has read
	// the bytes back, or has not touched them.
	Problem *Error `json:"problem,omitempty"`

	// Of a Result.
	Outcome Outcome `json:"outcome,omitempty"`
	Found   string  `json:"found,omitempty"` // the version afterwards, if known
}

// Changes reports whether the step loads or removes a library.
func (s Step) Changes() bool { return s.Action != "" && s.Action != Follow }

// Blocks reports whether an operator has to act before a planned step.
func (s Step) Blocks() bool { return s.Problem != nil }

// String is the action or the state, with its versions: "upgrade 1.0.0 -> 1.1.0".
func (s Step) String() string {
	switch {
	case s.Action == Upgrade || s.Action == Downgrade:
		return fmt.Sprintf("%s %s -> %s", s.Action, s.From, s.To)
	case s.Action == Delete:
		return "delete " + s.From
	case s.Action != "":
		return strings.TrimSpace(string(s.Action) + " " + s.To)
	case s.State == Newer:
		return "newer " + s.From
	}
	return strings.TrimSpace(string(s.State) + " " + s.To)
}

// compare returns how lib stands among the libraries of a node. A library without code is one to retire.
func compare(lib *fcall.Library, loaded []LoadedLibrary) Step {
	s := Step{Library: lib.ServerName, State: Missing, To: lib.Version}
	held := named(loaded, lib.ServerName)
	if held == nil {
		return s
	}
	s.From, s.FromDigest = held.Version, held.Digest
	order := semver.Compare("v"+held.Version, "v"+lib.Version)
	switch {
	case lib.Code == "" && held.ours():
		s.State = Held
	case held.Code == lib.Code:
		s.State = Same
	case held.Name != lib.Name || held.Name == "":
		s.State = Foreign
	case order < 0:
		s.State = Older
	case order > 0:
		s.State = Newer
	default:
		s.State = Drifted
	}
	return s
}

// stepFor returns what an operation does about a library on a node in this state.
func stepFor(state NodeState, lib *fcall.Library, op Op) Step {
	s := compare(lib, state.Libraries)
	if op == OpRetire {
		s.To = ""
	}
	s.Action = s.State.action(op)
	block := func(is State, reason Reason, text string) {
		s.State, s.Action, s.Problem = is, "", &Error{Op: string(op), Library: lib.ServerName, Node: state.Addr, Reason: reason, Text: text}
	}
	const rename = "; delete that library or rename this one"
	conflict := ""
	if s.Changes() || s.State == Drifted {
		conflict = conflictOf(lib, state.Libraries)
	}
	switch {
	case state.Follows != "":
		if !state.Readable {
			s.State = Unusable
		}
		if s.State != Same && s.State != Newer && !(op == OpRetire && s.State == Missing) || s.Changes() {
			s.Action = Follow
		}
	case !state.Readable, state.Problem != nil && s.Changes() && conflict == "":
		block(Unusable, state.Problem.Reason, state.Problem.Text)
		s.Problem.Cause = state.Problem.Cause
	case conflict != "":
		block(Conflicting, ErrConflict, conflict+rename)
	case s.State == Foreign && op == OpRetire:
		block(Foreign, ErrConflict, "the library of that name was not generated by rlfunc; nothing was deleted; remove it with FUNCTION DELETE")
	case s.State == Foreign:
		block(Foreign, ErrConflict, "the name "+lib.ServerName+" belongs to a library that rlfunc did not make, or to another library of rlfunc"+rename)
	case s.State == Drifted:
		from, mend := "this source", "give it a new version, or replace it with `rlfunc deploy --replace-drifted`"
		if op == OpRollback {
			from, mend = "the release to restore", "replace it with --replace-drifted, or choose another release with --to"
		}
		block(Drifted, ErrDrifted, "the server's "+lib.ServerName+" "+s.To+" differs from "+from+", first at "+difference(lib, named(state.Libraries, lib.ServerName).Code)+"; "+mend)
	case s.State == Older && op == opEnsure:
		block(Older, ErrOlder, "the node has "+s.From+", and this client was generated from "+s.To+"; run `rlfunc deploy`")
	}
	return s
}

// difference returns the first line that differs: of the author's file, or of the bundle for generated code.
func difference(lib *fcall.Library, found string) string {
	want, line := strings.SplitAfter(lib.Code, "\n"), 1
	for i, text := range strings.SplitAfter(found, "\n") {
		if i == len(want) || want[i] != text {
			break
		}
		line++
	}
	if file, at := lib.Locate(line); file != "" {
		return fmt.Sprintf("%s:%d", file, at)
	}
	return fmt.Sprintf("line %d of the bundle", line)
}

// describe describes briefly how a library stands on a node.
func describe(s Step) string {
	switch s.State {
	case Missing:
		return "missing"
	case Foreign:
		return "another library"
	case Drifted:
		return s.From + " with other bytes"
	}
	return s.From
}

// conflictOf says which function of lib another library holds, or "". Names of functions are global on a server and compared
// without case.
func conflictOf(lib *fcall.Library, loaded []LoadedLibrary) string {
	for _, name := range functionsOf(lib.Code) {
		for _, l := range loaded {
			for _, f := range l.Functions {
				if l.ServerName != lib.ServerName && strings.EqualFold(f, name) {
					return "function " + f + " belongs to library " + l.ServerName
				}
			}
		}
	}
	return ""
}

// digest identifies what an operation wants: the source, or "" for nothing.
func digest(lib *fcall.Library) string {
	if lib.Code == "" {
		return ""
	}
	return lib.Digest()
}
