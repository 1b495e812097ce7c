// Package bundle reads the text of a library, and writes the tombstone that replaces a retired one.
package bundle

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/internal/requires"
)

// HeaderPrefix begins the line that names the library and its version.
const HeaderPrefix = "-- rlfunc: "

// A Header is what a bundle says about itself. The zero Header means that rlfunc did not generate the code.
type Header struct {
	Name, Version string
	Retired       time.Time // of a tombstone
	Requires      requires.Servers
}

// ReadHeader reads the comments at the beginning of a bundle. It ignores fields that it does not know.
func ReadHeader(code string) (h Header) {
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		fields, ok := strings.CutPrefix(line, HeaderPrefix)
		if !ok {
			if line != "" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "#!") {
				return Header{}
			}
			continue
		}
		for field := range strings.FieldsSeq(fields) {
			switch key, value, _ := strings.Cut(field, "="); key {
			case "library":
				h.Name = value
			case "version":
				h.Version = value
			case "requires":
				h.Requires = requires.Parse(value)
			case "retired":
				h.Retired, _ = time.Parse(time.RFC3339, value) // a later version may write another form
			}
		}
		if h.Name == "" || !semver.IsValid("v"+h.Version) {
			return Header{}
		}
		return h
	}
	return Header{}
}

var shebang = regexp.MustCompile(`^#!\s*\w+\s+name=(\w+)\s*$`)

// ServerName returns the name in the first line, under which a server registers the library, or "".
func ServerName(code string) string {
	line, _, _ := strings.Cut(code, "\n")
	m := shebang.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return m[1]
}

const register = "register_function"

var registration = regexp.MustCompile(`^\W?` + register + `\s*[({]\s*(?:\{\s*)?(?:function_name\s*=\s*)?['"](\w+)['"]`)

// Functions returns the names that a bundle registers with a literal. It misses names that the code computes while it loads;
// their collisions show only when the server refuses the library.
func Functions(code string) []string {
	var names []string
	for {
		at := strings.Index(code, register) // a regexp would read each byte much more slowly
		if at < 0 {
			return names
		}
		if m := registration.FindStringSubmatch(code[max(0, at-1):]); m != nil {
			names = append(names, m[1])
		}
		code = code[at+len(register):]
	}
}

// Tombstone returns the code of the library that replaces a retired one. The server then refuses a load without REPLACE, so
// neither Ensure of an old service nor a client's auto-load restores the library. The tombstone is replicated and persisted like
// any library: FLUSHALL keeps it, FUNCTION FLUSH removes it.
func Tombstone(name, serverName, version string, now time.Time) string {
	at := now.UTC().Format(time.RFC3339)
	var code strings.Builder
	fmt.Fprintf(&code, "#!lua name=%s\n", serverName)
	fmt.Fprintf(&code, "%slibrary=%s version=%s retired=%s\n", HeaderPrefix, name, version, at)
	code.WriteString("-- Written by `rlfunc retire`. Clients do not load over it; `rlfunc deploy` and `rlfunc rollback` replace it.\n")
	fmt.Fprintf(&code, "redis.register_function{\n  function_name = '%s_retired',\n  callback = function()\n", serverName)
	fmt.Fprintf(&code, "    return redis.error_reply('RLRETIRED %s was retired at %s')\n  end,\n  flags = {'no-writes'},\n}\n", serverName, at)
	return code.String()
}
