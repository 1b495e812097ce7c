package annotation

import (
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/requires"
)

var serverVersionForm = regexp.MustCompile(`^(0|[1-9]\d{0,5})\.(0|[1-9]\d{0,5})(\.(0|[1-9]\d{0,5}))?$`)

// readRequires reads `@requires redis 7.4, valkey 9.0`: the servers that a library runs on.
func readRequires(r *fieldReader, rw row, lib *spec.Library) {
	refuse := func(format string, args ...any) { r.add(rw.line, rw.textCol, RuleRequires, format, args...) }
	lib.Requires = spec.Servers{}
	for one := range strings.SplitSeq(rw.doc(rw.text), ",") {
		words := strings.Fields(one)
		switch {
		case len(words) != 2 || !requires.Product(words[0]):
			refuse("@requires names redis, valkey or both with the least version of each, as `@requires redis 7.4, valkey 9.0`, got %q", strings.TrimSpace(one))
		case !serverVersionForm.MatchString(words[1]):
			refuse("%q is not a version such as 7.4", words[1])
		case !requires.Oldest.Met(words[0], words[1]):
			refuse("%s %s has no functions: every library needs %s anyway", words[0], words[1], requires.Oldest)
		case slices.ContainsFunc(lib.Requires, func(s spec.Server) bool { return s.Product == words[0] }):
			refuse("%s is repeated", words[0])
		default:
			lib.Requires = append(lib.Requires, spec.Server{Product: words[0], Version: words[1]})
		}
	}
}
