package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
	"golang.org/x/mod/semver"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/internal/marks"
)

// A LoadedLibrary is a library that a node holds.
type LoadedLibrary struct {
	ServerName string `json:"server_name"` // "ratelimit_v1"
	// Name and Version are from the bundle's header. Both are empty if rlfunc did not generate it.
	Name      string   `json:"name,omitempty"`    // "ratelimit"
	Version   string   `json:"version,omitempty"` // "1.0.0"
	Functions []string `json:"functions"`         // sorted
	Digest    string   `json:"digest"`            // SHA-256 of Code, in hexadecimal digits
	Code      string   `json:"-"`
}

// listLibraries lists all libraries with their code.
var listLibraries = []any{"FUNCTION", "LIST", "WITHCODE"}

// list returns all libraries of a server, sorted by name. It decodes the reply itself: go-redis's command fails on fields that it does not
// know, and servers add fields.
func list(ctx context.Context, c *redis.Client) ([]LoadedLibrary, error) {
	reply, err := c.Do(ctx, listLibraries...).Result()
	if err != nil {
		return nil, err
	}
	return readLibraries(reply)
}

func readLibraries(reply any) ([]LoadedLibrary, error) {
	items, ok := reply.([]any)
	if !ok {
		return nil, malformed("the list of libraries is a %T", reply)
	}
	libraries := make([]LoadedLibrary, 0, len(items))
	for i, item := range items {
		l, err := readLibrary(item)
		if err != nil {
			return nil, malformed("library %d of %d in the list: %v", i+1, len(items), err)
		}
		libraries = append(libraries, l)
	}
	slices.SortFunc(libraries, func(a, b LoadedLibrary) int { return strings.Compare(a.ServerName, b.ServerName) })
	return libraries, nil
}

func readLibrary(reply any) (LoadedLibrary, error) {
	fields := fieldMap(reply)
	var l LoadedLibrary
	l.ServerName, _ = fields["library_name"].(string)
	l.Code, _ = fields["library_code"].(string)
	if l.ServerName == "" {
		return l, errors.New("library_name is missing")
	}
	functions, _ := fields["functions"].([]any)
	l.Functions = []string{}
	for _, f := range functions {
		name, _ := fieldMap(f)["name"].(string)
		l.Functions = append(l.Functions, name)
	}
	slices.Sort(l.Functions)
	l.Digest = digestOf(l.Code)
	h := marks.ReadHead(l.Code)
	l.Name, l.Version = h.Library, h.Version
	return l, nil
}

func digestOf(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

// ours reports whether rlfunc generated the library for its server name.
func (l LoadedLibrary) ours() bool {
	return l.Name != "" && strings.HasPrefix(l.ServerName, l.Name+"_v")
}

// library returns the library as one to load.
func (l LoadedLibrary) library() *fcall.Library {
	return &fcall.Library{Name: l.Name, Version: l.Version, ServerName: l.ServerName, Code: l.Code}
}

func (l LoadedLibrary) release() Release {
	return Release{Library: l.ServerName, Name: l.Name, Version: l.Version, Digest: l.Digest}
}

// named returns the library of that name, or nil.
func named(libraries []LoadedLibrary, serverName string) *LoadedLibrary {
	i := slices.IndexFunc(libraries, func(l LoadedLibrary) bool { return l.ServerName == serverName })
	if i < 0 {
		return nil
	}
	return &libraries[i]
}

// present returns the highest version of a library that rlfunc generated on the primaries, or nil.
func present(states []NodeState, serverName string) *LoadedLibrary {
	var highest *LoadedLibrary
	for _, state := range states {
		l := named(state.Libraries, serverName)
		if state.Follows == "" && l != nil && l.ours() && (highest == nil || semver.Compare("v"+l.Version, "v"+highest.Version) > 0) {
			highest = l
		}
	}
	return highest
}

// checkLibraries rejects libraries that the loader would not recognise once they are loaded.
func checkLibraries(op string, libs []*fcall.Library) error {
	if len(libs) == 0 {
		return &Error{Op: op, Reason: ErrLibrary, Text: "no library was given"}
	}
	for i, lib := range libs {
		if lib == nil {
			return &Error{Op: op, Reason: ErrLibrary, Text: "a library is nil"}
		}
		refuse := func(why string) error {
			return &Error{Op: op, Library: lib.ServerName, Reason: ErrLibrary, Text: why}
		}
		m := marks.ReadHead(lib.Code)
		switch {
		case lib.ServerName == "" || !strings.HasPrefix(lib.Code, "#!lua name="+lib.ServerName+"\n"):
			return refuse("the code does not begin with `#!lua name=" + lib.ServerName + "`; generate it again")
		case m.Library != lib.Name || m.Version != lib.Version || m.Library == "":
			return refuse("the code's head does not say `" + marks.Head{Library: lib.Name, Version: lib.Version}.Line() + "`; generate it again")
		case slices.ContainsFunc(libs[:i], func(l *fcall.Library) bool { return l.ServerName == lib.ServerName }):
			return refuse("the library is given twice")
		}
	}
	return nil
}

var registration = regexp.MustCompile(`^\s*[({]\s*(?:\{\s*)?(?:function_name\s*=\s*)?['"](\w+)['"]`)

// functionsOf returns the names that a bundle registers with a literal. It misses names that the code computes while it loads; their
// collisions show only when the server refuses the library.
func functionsOf(code string) (names []string) {
	for _, after := range strings.Split(code, "register_function")[1:] { // a regexp would read each byte much more slowly
		if m := registration.FindStringSubmatch(after); m != nil {
			names = append(names, m[1])
		}
	}
	return names
}
