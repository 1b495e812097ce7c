package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// A LoadedLibrary is a library that a node holds.
type LoadedLibrary struct {
	ServerName string `json:"server_name"` // "ratelimit_v1"
	// Name and Version are what the bundle says about itself; both are empty if it was not made by rlfunc.
	Name      string    `json:"name,omitempty"`    // "ratelimit"
	Version   string    `json:"version,omitempty"` // "1.0.0"
	Retired   time.Time `json:"retired,omitzero"`  // when a retire put this in the place of the library, which serves no calls then
	Engine    string    `json:"engine"`            // "LUA"
	Functions []string  `json:"functions"`         // sorted
	Digest    string    `json:"digest"`            // SHA-256 of Code, in hexadecimal digits
	Code      string    `json:"-"`
}

// A listError is a list of libraries that is not what servers send.
type listError string

func (e listError) Error() string { return string(e) }

// list reads all libraries, sorted by name. The reply is read by hand: go-redis's own command fails on fields that it does not
// know, and servers add fields.
func (n *node) list(ctx context.Context) ([]LoadedLibrary, error) {
	return n.listed(ctx, "FUNCTION", "LIST", "WITHCODE")
}

// listOne reads the libraries of a name: one or none, and those that differ from it by case only.
func (n *node) listOne(ctx context.Context, serverName string) ([]LoadedLibrary, error) {
	return n.listed(ctx, "FUNCTION", "LIST", "WITHCODE", "LIBRARYNAME", serverName)
}

func (n *node) listed(ctx context.Context, command ...any) ([]LoadedLibrary, error) {
	reply, err := n.do(ctx, false, command...)
	if err != nil {
		return nil, err
	}
	return readLibraries(reply)
}

func readLibraries(reply any) ([]LoadedLibrary, error) {
	items, ok := reply.([]any)
	if !ok {
		return nil, listError(fmt.Sprintf("the list of libraries is a %T", reply))
	}
	libraries := make([]LoadedLibrary, 0, len(items))
	for i, item := range items {
		l, err := readLibrary(item)
		if err != nil {
			return nil, listError(fmt.Sprintf("library %d of %d in the list: %v", i+1, len(items), err))
		}
		libraries = append(libraries, l)
	}
	slices.SortFunc(libraries, func(a, b LoadedLibrary) int { return strings.Compare(a.ServerName, b.ServerName) })
	return libraries, nil
}

func readLibrary(reply any) (LoadedLibrary, error) {
	fields := resp.Map(reply)
	var l LoadedLibrary
	for name, into := range map[string]*string{"library_name": &l.ServerName, "engine": &l.Engine, "library_code": &l.Code} {
		text, ok := fields[name].(string)
		if !ok {
			return l, fmt.Errorf("%s is missing", name)
		}
		*into = text
	}
	functions, _ := fields["functions"].([]any)
	l.Functions = make([]string, 0, len(functions))
	for _, f := range functions {
		name, ok := resp.Map(f)["name"].(string)
		if !ok {
			return l, fmt.Errorf("a function of %s has no name", l.ServerName)
		}
		l.Functions = append(l.Functions, name)
	}
	slices.Sort(l.Functions)
	l.Digest = digestOf(l.Code)
	m := readMetadata(l.Code)
	l.Name, l.Version, l.Retired = m.name, m.version, m.retired
	return l, nil
}

func digestOf(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}
