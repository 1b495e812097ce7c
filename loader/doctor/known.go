package doctor

import (
	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/loader"
)

// A Fault is a defect of some versions of a server.
type Fault struct {
	ID       string
	Severity Severity
	Versions []Range
	Text     string // the effect
	Fix      string
}

// A Range is a range of versions of one product, both ends included.
type Range struct {
	Kind     string // "Redis", "Valkey"
	From, To string // "7.0.15"; an empty To equals From
}

// Known lists the known faults, by ID.
var Known = []Fault{
	{
		ID: "lua-cve", Severity: Warn,
		Versions: []Range{
			{"Redis", "7.0.0", "7.2.10"},
			{"Redis", "7.4.0", "7.4.5"},
			{"Redis", "8.0.0", "8.0.3"},
			{"Redis", "8.2.0", "8.2.1"},
			{"Valkey", "7.2.0", "7.2.10"},
			{"Valkey", "8.0.0", "8.0.5"},
			{"Valkey", "8.1.0", "8.1.3"},
		},
		Text: "a user who may run Lua can break out of it (faults of 2025, fixed in Redis 7.2.11, 7.4.6, 8.0.4, 8.2.2 and Valkey 7.2.11, 8.0.6, 8.1.4)",
		Fix:  "upgrade the server, or make sure that your distribution has fixed its version; grant EVAL and FUNCTION LOAD only to users that need them (rlfunc acl)",
	},
	{
		ID: "raised-table-crash", Severity: Note,
		Versions: []Range{{"Redis", "7.0.15", "8.0.2"}, {"Valkey", "8.0.1", ""}, {"Valkey", "8.1.1", ""}},
		Text:     "a function that raises a table without a text, as in error({}), ends the server",
		Fix:      "deploy only what rlfunc vet has passed; upgrade the server",
	},
	{
		ID: "call-argument-crash", Severity: Note,
		Versions: []Range{{"Redis", "7.4.1", ""}, {"Redis", "8.0.2", "8.0.6"}},
		Text:     "a function that gives redis.call nil, a boolean or a table lets FUNCTION FLUSH, DEBUG RELOAD and a full resync end the server: a primary that was demoted dies when it comes back",
		Fix:      "deploy only what rlfunc vet has passed, and never use FUNCTION FLUSH; upgrade the server",
	},
	{
		ID: "error-newline", Severity: Note,
		Versions: []Range{{"Redis", "7.2.6", ""}, {"Redis", "7.4.1", ""}, {"Valkey", "8.0.1", ""}},
		Text:     "an error whose text has a line break splits the reply, and the connection is one reply off from then on",
		Fix:      "deploy only what rlfunc vet has passed; upgrade the server",
	},
	{
		ID: "function-case-crash", Severity: Note,
		Versions: []Range{{"Redis", "7.0.15", ""}, {"Redis", "8.0.2", ""}, {"Valkey", "8.1.1", ""}},
		Text:     "two functions of one library whose names differ in case only end the server when the library is deleted or replaced",
		Fix:      "check libraries of other tools; rlfunc generates none of these",
	},
	{
		ID: "load-log-crash", Severity: Note,
		Versions: []Range{{"Valkey", "9.1.2", ""}},
		Text:     "a library that calls redis.log while it is loaded ends the server",
		Fix:      "deploy only what rlfunc vet has passed; upgrade the server",
	},
}

// Of lists the known faults of a server's version, in the order of Known.
func Of(s loader.Server) []Fault {
	var found []Fault
	for _, f := range Known {
		for _, r := range f.Versions {
			if r.holds(s) {
				found = append(found, f)
				break
			}
		}
	}
	return found
}

func (r Range) holds(s loader.Server) bool {
	version := "v" + s.Version
	if s.Kind != r.Kind || !semver.IsValid(version) {
		return false
	}
	to := r.To
	if to == "" {
		to = r.From
	}
	return semver.Compare(version, "v"+r.From) >= 0 && semver.Compare(version, "v"+to) <= 0
}
