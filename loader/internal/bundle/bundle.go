// Package bundle reads the text of a library, and writes the tombstone that replaces a retired one.
package bundle

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/internal/marks"
)

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
	code.WriteString(marks.Head{Library: name, Version: version, Retired: now}.Line() + "\n")
	code.WriteString("-- Written by `rlfunc retire`. Clients do not load over it; `rlfunc deploy` and `rlfunc rollback` replace it.\n")
	fmt.Fprintf(&code, "redis.register_function{\n  function_name = '%s_retired',\n  callback = function()\n", serverName)
	fmt.Fprintf(&code, "    return redis.error_reply('RLRETIRED %s was retired at %s')\n  end,\n  flags = {'no-writes'},\n}\n", serverName, at)
	return code.String()
}
