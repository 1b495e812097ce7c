package engines

import (
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// Line is one line of the file that RLFUNC_ENGINE_REPORT names: the use of an engine in one test process.
type Line struct {
	Package  string `json:"package"`
	Engine   string `json:"engine"`
	Version  string `json:"version,omitempty"`
	How      string `json:"how,omitempty"`
	Tests    int    `json:"tests"` // tests and subtests that asked for a client
	Required bool   `json:"required,omitempty"`
	Reason   string `json:"reason,omitempty"` // why it was not used; empty if it was
}

// writeReport appends this process's lines. A process that asked for no engine writes none.
func writeReport() error {
	file := os.Getenv("RLFUNC_ENGINE_REPORT")
	if file == "" || process.slots == nil {
		return nil
	}
	pkg := os.Args[0]
	if info, ok := debug.ReadBuildInfo(); ok {
		pkg = strings.TrimSuffix(info.Path, ".test")
	}
	var text []byte
	for _, s := range process.slots {
		l := Line{Package: pkg, Engine: s.name, Reason: s.reason, Required: s.required}
		if s.server != nil {
			l.Version, l.How, l.Tests = s.server.version, s.server.how, len(s.tests)
		}
		b, err := json.Marshal(l)
		if err != nil {
			return fmt.Errorf("report the engines: %w", err)
		}
		text = append(append(text, b...), '\n')
	}
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("report the engines: %w", err)
	}
	// One write: the processes append side by side.
	if _, err := f.Write(text); err != nil {
		f.Close()
		return fmt.Errorf("report the engines: %w", err)
	}
	return f.Close()
}
