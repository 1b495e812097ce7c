package loader

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/fcall"
)

const metadataMark = "-- rlfunc: "

// metadata is what a bundle says about itself.
type metadata struct {
	name, version string
	retired       time.Time // of a tombstone
}

// readMetadata reads the comments at a bundle's head. Further fields on that line are for later versions.
func readMetadata(code string) (m metadata) {
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		fields, ok := strings.CutPrefix(line, metadataMark)
		if !ok {
			if line != "" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "#!") {
				return metadata{}
			}
			continue
		}
		for field := range strings.FieldsSeq(fields) {
			switch key, value, _ := strings.Cut(field, "="); key {
			case "library":
				m.name = value
			case "version":
				m.version = value
			case "retired":
				m.retired, _ = time.Parse(time.RFC3339, value) // another text is for a later version
			}
		}
		if m.name == "" || !semver.IsValid("v"+m.version) {
			return metadata{}
		}
		return m
	}
	return metadata{}
}

var shebang = regexp.MustCompile(`^#!\s*\w+\s+name=(\w+)\s*$`)

func shebangName(code string) string {
	line, _, _ := strings.Cut(code, "\n")
	m := shebang.FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return m[1]
}

var registration = regexp.MustCompile(`\bregister_function\s*[({]\s*(?:\{\s*)?(?:function_name\s*=\s*)?['"](\w+)['"]`)

// registered returns the names that a bundle registers, as far as reading can tell; a name that is put together while the library
// loads is not seen, and its collision shows only when the server refuses it.
func registered(code string) []string {
	var names []string
	for _, m := range registration.FindAllStringSubmatch(code, -1) {
		names = append(names, m[1])
	}
	return names
}

// checkLibraries refuses libraries that would not be recognised once they are loaded.
func checkLibraries(op string, libs []*fcall.Library) error {
	if len(libs) == 0 {
		return &Error{Op: op, Reason: ErrLibrary, Text: "there is no library to look for"}
	}
	seen := map[string]bool{}
	holder := map[string]string{}
	for _, lib := range libs {
		if lib == nil {
			return &Error{Op: op, Reason: ErrLibrary, Text: "a library is nil"}
		}
		refuse := func(why string) error {
			return &Error{Op: op, Library: lib.ServerName, Reason: ErrLibrary, Text: why}
		}
		m := readMetadata(lib.Code)
		switch {
		case lib.ServerName == "" || shebangName(lib.Code) != lib.ServerName:
			return refuse("the code does not begin with `#!lua name=" + lib.ServerName + "`; generate it again")
		case m.name != lib.Name || m.version != lib.Version || m.name == "":
			return refuse("the code's head does not say `" + metadataMark + "library=" + lib.Name + " version=" + lib.Version + "`; generate it again")
		case seen[lib.ServerName]:
			return refuse("the library is given twice")
		}
		seen[lib.ServerName] = true
		for _, f := range registered(lib.Code) {
			other, ok := holder[strings.ToLower(f)]
			if ok && other != lib.ServerName {
				return &Error{Op: op, Library: lib.ServerName, Reason: ErrConflict, Text: "function " + f + " is also in library " + other + ", and names are global on a server"}
			}
			holder[strings.ToLower(f)] = lib.ServerName
		}
	}
	return nil
}

// A Conflict is a name that a library needs and another one holds. Names of functions are global on a server and compared without case.
type Conflict struct {
	Holder   string `json:"holder"`             // the server name of the library that holds it
	Function string `json:"function,omitempty"` // as the holder wrote it; empty if the library's own name is taken
}

// String says who holds what.
func (c Conflict) String() string {
	if c.Function == "" {
		return "the name " + c.Holder + " is held by a library that rlfunc did not make, or that is another library of rlfunc"
	}
	return "function " + c.Function + " is held by library " + c.Holder
}

// conflictOf finds the first of names that a library other than own holds.
func conflictOf(own string, names []string, loaded []LoadedLibrary) *Conflict {
	for _, name := range names {
		for _, l := range loaded {
			if l.ServerName == own {
				continue
			}
			i := slices.IndexFunc(l.Functions, func(f string) bool { return strings.EqualFold(f, name) })
			if i >= 0 {
				return &Conflict{Holder: l.ServerName, Function: l.Functions[i]}
			}
		}
	}
	return nil
}
