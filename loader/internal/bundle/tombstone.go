package bundle

import (
	"fmt"
	"strings"
	"time"
)

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
