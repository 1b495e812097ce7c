package engines

import (
	"encoding/json"
	"fmt"
	"os"
	"testing"
)

// ReportPrefix begins the lines that a process of tests prints at its end for internal/engines/report, one for each engine.
const ReportPrefix = "engines-report: "

// Line is what follows ReportPrefix: the use of an engine in one process of tests.
type Line struct {
	Engine  string `json:"engine"`
	Version string `json:"version,omitempty"`
	How     string `json:"how,omitempty"`
	Tests   int    `json:"tests"`            // tests and subtests that asked for a client
	Reason  string `json:"reason,omitempty"` // why it was not used; empty if it was
}

// writeReport prints this process's lines where go test keeps them. A process that asked for no engine prints none.
func writeReport() {
	if !testing.Verbose() || os.Getenv("RLFUNC_ENGINE_REPORT") == "" {
		return
	}
	for _, s := range process.slots {
		l := Line{Engine: s.name, Reason: s.reason}
		if s.server != nil {
			l.Version, l.How, l.Tests = s.server.version, s.server.how, len(s.tests)
		}
		if text, err := json.Marshal(l); err == nil {
			fmt.Printf("%s%s\n", ReportPrefix, text)
		}
	}
}
