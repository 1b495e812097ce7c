package api

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"
)

// decode reads the body. It returns the status of a wrong one.
func decode(w http.ResponseWriter, r *http.Request, to any) (int, error) {
	// A page in a browser cannot send this type to another origin.
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		return http.StatusUnsupportedMediaType, errors.New("its Content-Type must be application/json")
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return http.StatusRequestEntityTooLarge, errors.New("it must have at most 64 KiB")
	case err != nil:
		return http.StatusBadRequest, errors.New("it does not arrive")
	case !utf8.Valid(body) || hasHalfCharacter(body):
		return http.StatusBadRequest, errors.New("it must be UTF-8, without half of a character in an escape")
	}
	if err := json.Unmarshal(body, to); err != nil {
		return http.StatusBadRequest, err
	}
	if err := checkFields(body, reflect.TypeOf(to).Elem()); err != nil {
		return http.StatusBadRequest, err
	}
	return 0, nil
}

// checkFields finds fields that the document does not have, and requires those without omitempty: encoding/json ignores case, and takes a
// missing amount for 0.
func checkFields(body []byte, t reflect.Type) error {
	var given map[string]json.RawMessage
	if err := json.Unmarshal(body, &given); err != nil {
		return err
	}
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		value, ok := given[name]
		if options != "omitempty" && (!ok || string(value) == "null") {
			return fmt.Errorf("field %q is required", name)
		}
		delete(given, name)
		if row := f.Type; ok && row.Kind() == reflect.Slice && row.Elem().Kind() == reflect.Struct {
			var rows []json.RawMessage
			_ = json.Unmarshal(value, &rows) // it was read before
			for i, row := range rows {
				if err := checkFields(row, f.Type.Elem()); err != nil {
					return fmt.Errorf("%s[%d]: %w", name, i, err)
				}
			}
		}
	}
	for name := range given {
		return fmt.Errorf("unknown field %q", name)
	}
	return nil
}

// escapes are those of JSON strings, pairs of surrogates as one.
var escapes = regexp.MustCompile(`\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]..|u....|.)`)

// hasHalfCharacter reports whether a body has a surrogate alone. encoding/json would replace each by the same character.
func hasHalfCharacter(body []byte) bool {
	for _, escape := range escapes.FindAll(body, -1) {
		if len(escape) == 6 && (escape[2] == 'd' || escape[2] == 'D') && escape[3] >= '8' {
			return true
		}
	}
	return false
}
