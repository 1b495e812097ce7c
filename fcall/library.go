package fcall

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"github.com/rlfunc/rlfunc/internal/marks"
)

// A Library is a bundle that a server holds.
type Library struct {
	Name       string   // "ratelimit"
	Version    string   // semantic version, "1.0.0"
	ServerName string   // the name in Redis, "ratelimit_v1"
	Code       string   // the bundle, byte for byte what the server holds
	Forever    []string // suffixes of the keys that may stay without an expiry, sorted
}

// Digest returns the SHA-256 of Code, 64 lower-case hexadecimal digits.
func (l *Library) Digest() string {
	sum := sha256.Sum256([]byte(l.Code))
	return hex.EncodeToString(sum[:])
}

// Locate returns the author's file and line of a bundle line, by the marks that open each file in it. The generated code below a function
// is the function's own line, because it raises the function's errors again; for other generated code file is "" and line is bundleLine.
func (l *Library) Locate(bundleLine int) (file string, line int) {
	lines := strings.Split(l.Code, "\n")
	for at := min(bundleLine, len(lines)) - 1; at >= 0; at-- {
		b, ok := marks.ReadBlock(lines[at])
		switch line = bundleLine - at - 1; {
		case !ok:
			continue
		case b.File == "" || line == 0:
			return "", bundleLine
		case line <= b.Lines:
			return b.File, line
		case b.Local != "":
			return "", bundleLine
		}
		own := "local function " + strings.TrimSuffix(path.Base(b.File), ".lua") + "("
		for i, text := range lines[at+1:] {
			if strings.HasPrefix(text, own) {
				return b.File, i + 1
			}
		}
		break
	}
	return "", bundleLine
}

// A Function is one public function of a Library.
type Function struct {
	Library    *Library
	Name       string   // "sliding_log"
	ServerName string   // "ratelimit_v1_sliding_log"
	ReadOnly   bool     // registered with no-writes: sent as FCALL_RO, safe to repeat
	Codes      []string // error codes that it declares, besides RLARG and RLSTATE
	Omissible  int      // number of last arguments that are not sent if omitted
}

// String returns the name that messages use, "ratelimit.sliding_log".
func (f *Function) String() string {
	return f.Library.Name + "." + f.Name
}
