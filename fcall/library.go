package fcall

import (
	"crypto/sha256"
	"encoding/hex"
	"sort"
)

// A Library is a bundle that a server holds, and the origin of its lines.
type Library struct {
	Name       string    // "ratelimit"
	Version    string    // semantic version, "1.0.0"
	ServerName string    // the name in Redis, "ratelimit_v1"
	Code       string    // the bundle, byte for byte what the server holds
	Files      []Section // sorted by Line
	Forever    []string  // suffixes of the keys that may stay without an expiry, sorted
}

// A Section maps a run of bundle lines to a file: line Line of the bundle is line FileLine of File, and so on until the next
// Section. An empty File means generated code.
type Section struct {
	Line     int // 1 is the bundle's first line
	File     string
	FileLine int
}

// Digest returns the SHA-256 of Code, 64 lower-case hexadecimal digits.
func (l *Library) Digest() string {
	sum := sha256.Sum256([]byte(l.Code))
	return hex.EncodeToString(sum[:])
}

// Locate returns the author's file and line of a bundle line. For generated code, and for a line before the first Section, file
// is "" and line is bundleLine.
func (l *Library) Locate(bundleLine int) (file string, line int) {
	next := sort.Search(len(l.Files), func(i int) bool { return l.Files[i].Line > bundleLine })
	if next == 0 {
		return "", bundleLine
	}
	s := l.Files[next-1]
	if s.File == "" {
		return "", bundleLine
	}
	return s.File, s.FileLine + bundleLine - s.Line
}

// A Function is one public function of a Library.
type Function struct {
	Library    *Library
	Name       string   // "sliding_log"
	ServerName string   // "ratelimit_v1_sliding_log"
	ReadOnly   bool     // registered with no-writes: sent as FCALL_RO, safe to repeat
	Codes      []string // error codes that it declares, besides RLARG and RLSTATE
	Omissible  int      // number of last arguments that are not sent if omitted
	Results    []Result // the encoding of its results, in header order

	word any // ServerName, once a client has bound the function
}

// String returns the name that messages use, "ratelimit.sliding_log".
func (f *Function) String() string {
	if f.Library == nil {
		return f.Name
	}
	return f.Library.Name + "." + f.Name
}

func (f *Function) serverLibrary() string {
	if f.Library == nil {
		return "the library of " + f.ServerName
	}
	return f.Library.ServerName
}

// differs says what to do about a library on the server that is not the one that the client was generated from.
func (f *Function) differs() string {
	from := ""
	if f.Library != nil && f.Library.Version != "" {
		from = ", which was generated from " + f.Library.Version
	}
	return f.serverLibrary() + " on the server is newer than this client" + from +
		": update the service, or run `rlfunc rollback`; if the library is older, run `rlfunc deploy`"
}

func (f *Function) declares(code string) bool {
	for _, c := range f.Codes {
		if c == code {
			return true
		}
	}
	return false
}
