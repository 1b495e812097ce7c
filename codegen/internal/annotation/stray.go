package annotation

import (
	"regexp"
	"slices"

	"github.com/rlfunc/rlfunc/codegen/internal/diag"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/internal/spelling"
)

var tagLike = regexp.MustCompile(`^-+\s*@([a-zA-Z]+)\b`)

// stray finds comments outside the header that look like rows: nothing would read them.
func stray(f *luasrc.File, h *header, found *diag.List) {
	for _, c := range f.Comments {
		if h != nil && c.Line >= h.first && c.Line <= h.last && isHeaderLine(c.Text) {
			continue
		}
		m := tagLike.FindStringSubmatch(c.Text)
		if m == nil || !slices.Contains(tags, m[1]) && spelling.Nearest(m[1], tags) == "" {
			continue
		}
		if isHeaderLine(c.Text) {
			found.Add(f.Path, c.Line, c.Col, RuleStrayTag, "@%s stands outside the header: the header is the unbroken block of --- lines directly above the function", m[1])
		} else {
			found.Add(f.Path, c.Line, c.Col, RuleStrayTag, "@%s is written with three dashes, in the header", m[1])
		}
	}
}
