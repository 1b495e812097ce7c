package loader

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/fcall"
)

// A State compares a node's library with the source.
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
)

// A Finding is one library on one node.
type Finding struct {
	Library string `json:"library"` // "ratelimit_v1"
	State   State  `json:"state"`
	Want    string `json:"want"`            // the version of the source
	Found   string `json:"found,omitempty"` // the version on the node, if known
	Digest  string `json:"digest,omitempty"`
	// Difference is the first difference of the bytes, or nil.
	Difference *Difference `json:"difference,omitempty"`
	Retired    time.Time   `json:"retired,omitzero"` // when, if State is Retired
}

// replaces reports whether a load takes the place of what was found.
func (f Finding) replaces() bool { return f.State != Missing }

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

// compare finds lib among the libraries of a node.
func compare(lib *fcall.Library, loaded []LoadedLibrary) Finding {
	f := Finding{Library: lib.ServerName, Want: lib.Version, State: Missing}
	i := slices.IndexFunc(loaded, func(l LoadedLibrary) bool { return l.ServerName == lib.ServerName })
	if i < 0 {
		return f
	}
	held := loaded[i]
	f.Found, f.Digest = held.Version, held.Digest
	if held.Code == lib.Code {
		f.State = Same
		return f
	}
	if held.Name == lib.Name && !held.Retired.IsZero() {
		f.State, f.Found, f.Retired = Retired, "", held.Retired
		return f
	}
	f.Difference = difference(lib, held.Code)
	order := semver.Compare("v"+held.Version, "v"+lib.Version)
	switch {
	case held.Name != lib.Name:
		f.State = Foreign
	case order < 0:
		f.State = Older
	case order > 0:
		f.State = Newer
	default:
		f.State = Drifted
	}
	return f
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
