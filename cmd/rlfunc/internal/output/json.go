package output

import (
	"bytes"
	"encoding/json"
	"io"
)

// Format is the version of every JSON object that has no version of its own. It goes up when names in the object change.
const Format = 1

// JSON prints a value, indented, as Marshal returns it.
func JSON(w io.Writer, v any) error {
	text, err := Marshal(v)
	if err == nil {
		_, err = w.Write(text)
	}
	return err
}

// Marshal returns an object as indented JSON with a final newline. An object without a top-level format gets "format": 1 as its first field.
func Marshal(v any) ([]byte, error) {
	text, err := encode(v)
	if err != nil {
		return nil, err
	}
	var own struct{ Format *int }
	if rest, isObject := bytes.CutPrefix(text, []byte("{")); isObject && json.Unmarshal(text, &own) == nil && own.Format == nil {
		separator := ","
		if bytes.HasPrefix(rest, []byte("}")) {
			separator = ""
		}
		text = append([]byte(`{"format":1`+separator), rest...)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, text, "", "  "); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return b.Bytes(), err
}

// List returns list, or an empty list where it is nil: JSON shows null for a nil list.
func List[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
