package doctor

// A Severity is how much a finding matters.
type Severity string

// The severities. A Problem is wrong now; a Warn goes wrong one day; a Note is good to know.
const (
	Problem Severity = "problem"
	Warn    Severity = "warning"
	Note    Severity = "note"
)

// A Finding is one thing that can go wrong, and what to do about it.
type Finding struct {
	ID       string   `json:"id"` // "not_persistent"
	Severity Severity `json:"severity"`
	Node     string   `json:"node,omitempty"` // "127.0.0.1:7001"; empty for the target as a whole
	Text     string   `json:"text"`
	Fix      string   `json:"fix"`
}
