package fcall

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"

	"github.com/rlfunc/rlfunc/internal/marks"
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

// registerMark begins the line of a bundle that registers a function.
const registerMark = "redis.register_function{function_name = '"

// Channel returns a copy of the library under another name, such as `ratelimit_v1_canary`. A server can hold both: a canary
// serves some of the callers, a shadow run's answers are discarded. "" returns the library itself.
//
// A name is 1 to 32 of a-z and 0-9, begins with a letter and is not "stable". Channel rejects a name that makes two functions'
// names equal: a library with gcra_peek and peek cannot have a channel gcra.
//
// Clients of a channel use the same keys as other clients unless they have their own Namespace: a canary shares the limits, a
// shadow run needs a namespace.
func (l *Library) Channel(name string) (*Library, error) {
	if name == "" {
		return l, nil
	}
	if err := checkChannel(name); err != nil {
		return nil, fmt.Errorf("channel of %s: %w", l.ServerName, err)
	}
	lines := strings.SplitAfter(l.Code, "\n")
	own := map[string]bool{}
	for _, line := range lines {
		if f, ok := registers(line, l.ServerName); ok {
			own[f] = true
		}
	}
	channel := *l
	channel.ServerName = l.ServerName + "_" + name
	for i, line := range lines {
		switch f, ok := registers(line, l.ServerName); {
		case ok && own[name+"_"+f]:
			return nil, fmt.Errorf("channel of %s: %q would call a function %s_%s, which the library has already", l.ServerName, name, channel.ServerName, f)
		case ok:
			lines[i] = registerMark + channel.ServerName + strings.TrimPrefix(line, registerMark+l.ServerName)
		case i == 0:
			lines[i] = strings.Replace(line, "name="+l.ServerName, "name="+channel.ServerName, 1)
		case strings.HasPrefix(line, marks.Prefix+"library="+l.Name+" "):
			text := strings.TrimRight(line, "\r\n")
			lines[i] = text + " channel=" + name + line[len(text):]
		}
	}
	channel.Code = strings.Join(lines, "")
	return &channel, nil
}

func checkChannel(name string) error {
	ok := len(name) <= 32 && 'a' <= name[0] && name[0] <= 'z' && name != "stable"
	for i := 0; ok && i < len(name); i++ {
		ok = 'a' <= name[i] && name[i] <= 'z' || '0' <= name[i] && name[i] <= '9'
	}
	if !ok {
		return fmt.Errorf("the name must be 1 to 32 of the characters a-z 0-9, begin with a letter and not be stable, got %s", quote(name))
	}
	return nil
}

// registers returns the function that a line of a bundle registers, without the library's name.
func registers(line, server string) (function string, ok bool) {
	rest, ok := strings.CutPrefix(line, registerMark+server+"_")
	if !ok {
		return "", false
	}
	return rest[:max(0, strings.IndexByte(rest, '\''))], true
}

// inChannel returns the function as a client calls it in a channel's library, which may be base itself.
func (f *Function) inChannel(channel *Library, base *Library) *Function {
	g := *f
	if channel != base {
		g.Library = channel
		g.ServerName = channel.ServerName + strings.TrimPrefix(f.ServerName, base.ServerName)
	}
	g.word = g.ServerName
	return &g
}
