package bundle

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/tools/txtar"
)

// What a bundle says about itself: the library in its head, and in front of each of the author's files which one follows.
const (
	libraryMark = "-- rlfunc: library="
	versionMark = " version="
	linesMark   = " -- rlfunc: lines="
	fileMark    = " file="
)

// A Source is what a bundle was made from, as far as it is in the bundle: all but the doc of the library.
type Source struct {
	Library string
	Version string
	Root    string            // how the author called the source root, "functions"
	Files   map[string]string // by slash-separated path below Root, "ratelimit/gcra.lua"
}

// FS is the source tree, with a library.lua that says no more than the bundle does.
func (s *Source) FS() (fs.FS, error) {
	declared := fmt.Sprintf("--- Read back from a bundle.\n--- @library %s %s\n", s.Library, s.Version)
	archive := &txtar.Archive{Files: []txtar.File{{Name: s.Library + "/library.lua", Data: []byte(declared)}}}
	for _, name := range slices.Sorted(maps.Keys(s.Files)) {
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(s.Files[name])})
	}
	return txtar.FS(archive)
}

// ErrNoSource says that a bundle does not tell its source: rlfunc did not make it, or it was changed by hand.
var ErrNoSource = errors.New("the library does not say which files it was made from")

// Read takes a bundle apart again. It is what a server's copy is compared by.
func Read(code string) (*Source, error) {
	s := &Source{Files: map[string]string{}}
	lines := strings.Split(code, "\n")
	for i := 0; i < len(lines); i++ {
		if about, ok := strings.CutPrefix(lines[i], libraryMark); ok && s.Library == "" {
			about, _, _ = strings.Cut(about, "\r")
			s.Library, s.Version, _ = strings.Cut(about, versionMark)
			s.Version, _, _ = strings.Cut(s.Version, " ")
			continue
		}
		name, count := marked(lines[i])
		if name == "" {
			continue
		}
		if count < 1 || count > len(lines)-i-1 {
			return nil, fmt.Errorf("%w: %s is said to have %d lines, and %d follow", ErrNoSource, name, count, len(lines)-i-1)
		}
		dir := path.Dir(name)
		root := path.Dir(dir)
		if s.Root == "" {
			s.Root = root
		}
		below := path.Join(path.Base(dir), path.Base(name))
		if _, twice := s.Files[below]; twice || root != s.Root || !fs.ValidPath(name) {
			return nil, fmt.Errorf("%w: %q is no path beside the others", ErrNoSource, name)
		}
		s.Files[below] = strings.Join(lines[i+1:i+1+count], "\n") + "\n"
		i += count
	}
	if s.Library == "" || s.Version == "" || len(s.Files) == 0 {
		return nil, ErrNoSource
	}
	return s, nil
}

// marked reads the end of a line that opens a file.
func marked(line string) (name string, count int) {
	_, mark, ok := strings.Cut(line, linesMark)
	if !ok {
		return "", 0
	}
	digits, name, ok := strings.Cut(mark, fileMark)
	count, err := strconv.Atoi(digits)
	if !ok || err != nil || !strings.Contains(name, "/") || !slices.Contains([]string{"do", "local"}, strings.Fields(line)[0]) {
		return "", 0
	}
	return name, count
}
