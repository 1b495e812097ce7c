package contract

import (
	"fmt"
	"strings"
)

func (s Step) String() string {
	var b strings.Builder
	if s.Advance != 0 {
		fmt.Fprintf(&b, "%+dus ", s.Advance)
	}
	for _, w := range s.Foreign {
		fmt.Fprintf(&b, "[%s] ", brief(w))
	}
	b.WriteString(brief(s.call.words()))
	return b.String()
}
