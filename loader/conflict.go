package loader

import (
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/loader/internal/bundle"
)

// checkLibraries rejects libraries that the loader would not recognise once they are loaded.
func checkLibraries(op string, libs []*fcall.Library) error {
	if len(libs) == 0 {
		return &Error{Op: op, Reason: ErrLibrary, Text: "no library was given"}
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
		m := bundle.ReadHeader(lib.Code)
		switch {
		case lib.ServerName == "" || bundle.ServerName(lib.Code) != lib.ServerName:
			return refuse("the code does not begin with `#!lua name=" + lib.ServerName + "`; generate it again")
		case m.Name != lib.Name || m.Version != lib.Version || m.Name == "":
			return refuse("the code's head does not say `" + bundle.HeaderPrefix + "library=" + lib.Name + " version=" + lib.Version + "`; generate it again")
		case seen[lib.ServerName]:
			return refuse("the library is given twice")
		}
		seen[lib.ServerName] = true
		for _, f := range bundle.Functions(lib.Code) {
			other, ok := holder[strings.ToLower(f)]
			if ok && other != lib.ServerName {
				return &Error{Op: op, Library: lib.ServerName, Reason: ErrConflict, Text: "function " + f + " is also in library " + other + ", and names are global on a server"}
			}
			holder[strings.ToLower(f)] = lib.ServerName
		}
	}
	return nil
}

// A Conflict is a name that a library needs and another library on the server has. Names of functions are global on a server
// and compared without case.
type Conflict struct {
	Holder   string `json:"holder"`             // the server name of the library that has it
	Function string `json:"function,omitempty"` // the function; empty if the library's own name is taken
}

// String describes the conflict.
func (c Conflict) String() string {
	if c.Function == "" {
		return "the name " + c.Holder + " belongs to a library that rlfunc did not make, or to another library of rlfunc"
	}
	return "function " + c.Function + " belongs to library " + c.Holder
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
