// Package terminal knows what a terminal shows, and asks questions on it.
package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"unicode"
)

// Is reports whether stream is a terminal. /dev/null is a character device and not a terminal.
func Is(stream any) bool {
	file, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := file.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// Movable reports whether stream is a terminal whose cursor can be moved.
func Movable(stream any) bool { return Is(stream) && os.Getenv("TERM") != "dumb" }

// Visible quotes untrusted text if it contains characters that a terminal would interpret or hide, such as control characters.
func Visible(text string) string {
	if strings.ContainsFunc(text, func(r rune) bool { return r == '\uFFFD' || !unicode.IsPrint(r) }) {
		return strconv.Quote(text)
	}
	return text
}

// StyleOf returns the style of a stream: color on a terminal that is not dumb, unless NO_COLOR is set.
func StyleOf(stream any) Style {
	return Style{Color: os.Getenv("NO_COLOR") == "" && Movable(stream), ASCII: !Movable(stream) || !showsUnicode()}
}

// showsUnicode reports whether the locale's character encoding is UTF-8.
func showsUnicode() bool {
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		if value := strings.ToLower(os.Getenv(name)); value != "" {
			return strings.Contains(value, "utf-8") || strings.Contains(value, "utf8")
		}
	}
	return false
}

// A Style says how to draw text. Its zero value draws without color and with any character.
type Style struct {
	Color bool
	ASCII bool // use no other characters
}

func (s Style) paint(code, text string) string {
	if !s.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Bold returns text in bold type.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Dim returns text in a faint color.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Red returns text in red.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green returns text in green.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow returns text in yellow.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Confirm asks a yes-or-no question and reports whether the answer was yes. The end of ctx is a no.
func Confirm(ctx context.Context, in io.Reader, out io.Writer, question string) bool {
	fmt.Fprintf(out, "%s [y/N] ", question)
	answers := make(chan string, 1)
	go func() {
		answer, _ := bufio.NewReader(in).ReadString('\n') // at an error, the text before it is the answer
		answers <- answer
	}()
	answer := ""
	select {
	case answer = <-answers:
	case <-ctx.Done():
	}
	if !strings.HasSuffix(answer, "\n") {
		fmt.Fprintln(out)
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}
