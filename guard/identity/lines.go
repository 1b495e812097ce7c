package identity

import (
	"fmt"
	"strings"
)

const (
	maxFile = 16 << 20 // bytes of a file of digests or secrets
	maxLine = 512      // bytes of one of its lines
)

// eachLine calls f with the fields of each line, except empty lines and comments, which begin with #. It returns the first
// error with its line number, and without the line's text, which may be a secret.
func eachLine(path string, content []byte, f func(fields []string) error) error {
	number := 0
	for line := range strings.Lines(string(content)) {
		number++
		err := error(nil)
		if len(line) > maxLine {
			err = fmt.Errorf("longer than %d bytes", maxLine)
		} else if fields := strings.Fields(line); len(fields) > 0 && fields[0][0] != '#' {
			err = f(fields)
		}
		if err != nil {
			return fmt.Errorf("%s:%d: %w", path, number, err)
		}
	}
	return nil
}
