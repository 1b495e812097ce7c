// Package marks has what rlfunc writes into a bundle for itself: the head, by which every reader knows a library and its version, and the
// line that opens each block, by which the source is found again.
package marks

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Prefix begins the line of the head. Every mark has it.
const Prefix = "-- rlfunc: "

// A Head is what a bundle says about itself. The zero Head means that rlfunc did not generate the code.
type Head struct{ Library, Version string }

var version = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)

// Line is the line of the head.
func (h Head) Line() string {
	return Prefix + "library=" + h.Library + " version=" + h.Version
}

// ReadHead reads the comments at the beginning of a bundle. It ignores fields that it does not know.
func ReadHead(code string) (h Head) {
	for line := range strings.Lines(code) {
		line = strings.TrimSpace(line)
		fields, ok := strings.CutPrefix(line, Prefix)
		if !ok {
			if line != "" && !strings.HasPrefix(line, "--") && !strings.HasPrefix(line, "#!") {
				return Head{}
			}
			continue
		}
		for field := range strings.FieldsSeq(fields) {
			switch key, value, _ := strings.Cut(field, "="); key {
			case "library":
				h.Library = value
			case "version":
				h.Version = value
			}
		}
		if h.Library == "" || !version.MatchString(h.Version) {
			return Head{}
		}
		return h
	}
	return Head{}
}

// A Block is a part of a bundle: a file of the author's, or generated code that some functions share. Its lines follow the line that opens
// it.
type Block struct {
	Local string // the local that holds a lib file or shared code; "" for a function
	Lines int
	File  string // "functions/lib/clock.lua"; "" for shared code
}

var block = regexp.MustCompile(`^(?:do|local (\w+) = \(function\(\)) -- rlfunc: (?:lines=(-?\d+) file=(.+/.+)|shared lines=(\d+))$`)

// Line is the line that opens the block.
func (b Block) Line() string {
	open := "do"
	if b.Local != "" {
		open = "local " + b.Local + " = (function()"
	}
	if b.File == "" {
		return fmt.Sprintf("%s %sshared lines=%d", open, Prefix, b.Lines)
	}
	return fmt.Sprintf("%s %slines=%d file=%s", open, Prefix, b.Lines, b.File)
}

// ReadBlock reads a line that opens a block; ok is false for any other.
func ReadBlock(line string) (b Block, ok bool) {
	m := block.FindStringSubmatch(line)
	if m == nil {
		return b, false
	}
	lines, err := strconv.Atoi(m[2] + m[4])
	return Block{Local: m[1], Lines: lines, File: m[3]}, err == nil
}
