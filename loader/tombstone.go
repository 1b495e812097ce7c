package loader

import (
	"fmt"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/fcall"
)

// tombstone returns the library that a retire puts in the place of another. A server refuses a load without REPLACE while the name is taken, so
// neither an old service's Ensure nor its client's auto-load brings the library back, and no call has to look for anything. It lives exactly
// where functions live: it is replicated and saved with them, FLUSHALL leaves it, and FUNCTION FLUSH removes it with all others.
func tombstone(name, serverName, version string, now time.Time) *fcall.Library {
	at := now.UTC().Format(time.RFC3339)
	var code strings.Builder
	fmt.Fprintf(&code, "#!lua name=%s\n", serverName)
	fmt.Fprintf(&code, "%slibrary=%s version=%s retired=%s\n", metadataMark, name, version, at)
	code.WriteString("-- `rlfunc retire` put this here. Clients load nothing while it is here; `rlfunc deploy` and `rlfunc rollback` replace it.\n")
	fmt.Fprintf(&code, "redis.register_function{\n  function_name = '%s_retired',\n  callback = function()\n", serverName)
	fmt.Fprintf(&code, "    return redis.error_reply('RLRETIRED %s was retired at %s')\n  end,\n  flags = {'no-writes'},\n}\n", serverName, at)
	return &fcall.Library{Name: name, Version: version, ServerName: serverName, Code: code.String()}
}

// retiredBefore warns that a deploy brings back what a retire has removed.
func retiredBefore(states []NodeState, libs []*fcall.Library) []Warning {
	var warnings []Warning
	for _, lib := range libs {
		for _, state := range states {
			if found := compare(lib, state.Libraries); found.State == Retired {
				warnings = append(warnings, Warning{
					Code: "retired",
					Text: lib.ServerName + " was retired at " + clockTime(found.Retired) + "; a deploy brings it back",
				})
				break
			}
		}
	}
	return warnings
}
