package plugins

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/rlfunc/rlfunc/codegen/plugin"
)

const (
	maxFiles = 10_000
	maxName  = 200 // bytes
)

// parse reads a response, strictly.
func parse(text []byte) (map[string][]byte, error) {
	if len(bytes.TrimSpace(text)) == 0 {
		return nil, errors.New(`it printed nothing: want {"format": 1, "files": [...]} on standard output`)
	}
	if !utf8.Valid(text) {
		return nil, errors.New("its output is not UTF-8")
	}
	var response plugin.Response
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&response); err != nil {
		return nil, fmt.Errorf("its output is not a response: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("its output has text after the response; print notes on standard error")
	}
	if response.Format != plugin.Format {
		return nil, fmt.Errorf("its response has format %d; this rlfunc reads format %d", response.Format, plugin.Format)
	}
	if len(response.Files) > maxFiles {
		return nil, fmt.Errorf("it returned %d files, more than %d", len(response.Files), maxFiles)
	}
	out, folded := map[string][]byte{}, map[string]string{}
	for _, f := range response.Files {
		if err := checkName(f.Name); err != nil {
			return nil, err
		}
		// Some file systems do not distinguish case.
		if other, ok := folded[strings.ToLower(f.Name)]; ok {
			return nil, fmt.Errorf("it returned the file %q twice: %q", other, f.Name)
		}
		folded[strings.ToLower(f.Name)] = f.Name
		out[f.Name] = []byte(f.Content)
	}
	for _, f := range response.Files {
		for dir := path.Dir(f.Name); dir != "."; dir = path.Dir(dir) {
			if file, ok := folded[strings.ToLower(dir)]; ok {
				return nil, fmt.Errorf("it returned the files %q and %q: a name cannot be a file and a folder", file, f.Name)
			}
		}
	}
	return out, nil
}

func checkName(name string) error {
	switch {
	case name == "" || len(name) > maxName || strings.IndexFunc(name, unicode.IsControl) >= 0:
		return fmt.Errorf("it returned the file name %.40q: want 1 to %d bytes without control characters", name, maxName)
	case !filepath.IsLocal(name) || path.Clean(name) != name || name == "." || strings.ContainsAny(name, `\:`):
		return fmt.Errorf("it returned the file %q: want a path inside its folder, with slashes, such as client/keys.rb", name)
	}
	return nil
}
