package fcall

import (
	"iter"
	"strings"
)

// A held library is what a server has under a library's name.
type held struct {
	version   string // as the bundle says it; "of an unknown version" if it does not
	retired   string // when a retire put it there to keep the library away, or empty
	functions []string
}

// has tells whether it registers a function; servers compare names without case.
func (l *held) has(fn *Function) bool {
	for _, name := range l.functions {
		if strings.EqualFold(name, fn.ServerName) {
			return true
		}
	}
	return false
}

// readHeld reads the reply to FUNCTION LIST of one library with its code; nil if there is none.
func readHeld(reply any) *held {
	list, _ := reply.([]any)
	if len(list) == 0 {
		return nil
	}
	library := readMap(list[0])
	code, _ := library["library_code"].(string)
	l := &held{version: "of an unknown version"}
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

// readMap reads a map of RESP3, or its flat form in RESP2.
func readMap(reply any) map[string]any {
	fields := map[string]any{}
	switch r := reply.(type) {
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

// metadataMark begins the line on which a bundle says what it is.
const metadataMark = "-- rlfunc: "

// metadata are the fields of that line.
func metadata(code string) iter.Seq[string] {
	for line := range strings.Lines(code) {
		if fields, ok := strings.CutPrefix(line, metadataMark); ok {
			return strings.FieldsSeq(fields)
		}
	}
	return strings.FieldsSeq("")
}
