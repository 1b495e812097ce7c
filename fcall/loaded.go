package fcall

import (
	"iter"
	"strings"
)

// A loadedLibrary is what a server holds under a library's name.
type loadedLibrary struct {
	version   string // from the bundle's header, or "of an unknown version"
	retired   string // when a retire replaced the library with this tombstone, or ""
	functions []string
}

// has reports whether the library registers a function. Servers compare names without case.
func (l *loadedLibrary) has(fn *Function) bool {
	for _, name := range l.functions {
		if strings.EqualFold(name, fn.ServerName) {
			return true
		}
	}
	return false
}

// readLoaded reads the reply to FUNCTION LIST of one library with its code, or returns nil if the list is empty.
func readLoaded(reply any) *loadedLibrary {
	list, _ := reply.([]any)
	if len(list) == 0 {
		return nil
	}
	library := readMap(list[0])
	code, _ := library["library_code"].(string)
	l := &loadedLibrary{version: "of an unknown version"}
	for field := range metadata(code) {
		switch key, value, _ := strings.Cut(field, "="); key {
		case "version":
			l.version = value
		case "retired":
			l.retired = value
		}
	}
	functions, _ := library["functions"].([]any)
	for _, f := range functions {
		if name, ok := readMap(f)["name"].(string); ok {
			l.functions = append(l.functions, name)
		}
	}
	return l
}

// readMap reads a map of RESP3 or its flat form in RESP2.
func readMap(reply any) map[string]any {
	fields := map[string]any{}
	switch r := reply.(type) {
	case map[string]any: // of an adapter
		return r
	case map[any]any:
		for k, v := range r {
			if name, ok := k.(string); ok {
				fields[name] = v
			}
		}
	case []any:
		for i := 0; i+1 < len(r); i += 2 {
			if name, ok := r[i].(string); ok {
				fields[name] = r[i+1]
			}
		}
	}
	return fields
}

// metadataMark begins the header line of a bundle.
const metadataMark = "-- rlfunc: "

// metadata returns the fields of the header line.
func metadata(code string) iter.Seq[string] {
	for line := range strings.Lines(code) {
		if fields, ok := strings.CutPrefix(line, metadataMark); ok {
			return strings.FieldsSeq(fields)
		}
	}
	return strings.FieldsSeq("")
}
