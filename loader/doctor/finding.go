package doctor

// A Severity ranks a finding.
type Severity string

// The severities. A Problem exists now, a Warn may become one, a Note is information.
const (
	Problem Severity = "problem"
	Warn    Severity = "warning"
	Note    Severity = "note"
)

// A Finding is a problem or a risk, and its fix.
type Finding struct {
	ID       string   `json:"id"` // "not_persistent"
	Severity Severity `json:"severity"`
	Node     string   `json:"node,omitempty"` // "127.0.0.1:7001"; empty for the target as a whole
	Text     string   `json:"text"`
	Fix      string   `json:"fix"`
}
