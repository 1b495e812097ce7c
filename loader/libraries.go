package loader

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rlfunc/rlfunc/loader/internal/bundle"
	"github.com/rlfunc/rlfunc/loader/internal/conn"
	"github.com/rlfunc/rlfunc/loader/internal/resp"
)

// A LoadedLibrary is a library that a node holds.
type LoadedLibrary struct {
	ServerName string `json:"server_name"` // "ratelimit_v1"
	// Name and Version are from the bundle's header. Both are empty if rlfunc did not generate it.
	Name      string    `json:"name,omitempty"`    // "ratelimit"
	Version   string    `json:"version,omitempty"` // "1.0.0"
	Retired   time.Time `json:"retired,omitzero"`  // when a retire replaced the library with this tombstone, which serves no calls
	Engine    string    `json:"engine"`            // "LUA"
	Functions []string  `json:"functions"`         // sorted
	Digest    string    `json:"digest"`            // SHA-256 of Code, in hexadecimal digits
	Code      string    `json:"-"`
}

// listAll returns all libraries, sorted by name. It decodes the reply itself: go-redis's command fails on fields that it does
// not know, and servers add fields.
func listAll(ctx context.Context, c *conn.Conn) ([]LoadedLibrary, error) {
	return list(ctx, c, "FUNCTION", "LIST", "WITHCODE")
}

// listOne returns the libraries of a name: one or none, and those that differ in case only.
func listOne(ctx context.Context, c *conn.Conn, serverName string) ([]LoadedLibrary, error) {
	return list(ctx, c, listCommand(serverName)...)
}

// listCommand lists one library with its code. Names of libraries are letters, digits and underscores, so the pattern matches
// only that name, in any case.
func listCommand(serverName string) []any {
	return []any{"FUNCTION", "LIST", "LIBRARYNAME", serverName, "WITHCODE"}
}

func list(ctx context.Context, c *conn.Conn, command ...any) ([]LoadedLibrary, error) {
	reply, err := c.Do(ctx, false, command...)
	if err != nil {
		return nil, err
	}
	return readLibraries(reply)
}

func readLibraries(reply any) ([]LoadedLibrary, error) {
	items, ok := reply.([]any)
	if !ok {
		return nil, resp.FormatError(fmt.Sprintf("the list of libraries is a %T", reply))
	}
	libraries := make([]LoadedLibrary, 0, len(items))
	for i, item := range items {
		l, err := readLibrary(item)
		if err != nil {
			return nil, resp.FormatError(fmt.Sprintf("library %d of %d in the list: %v", i+1, len(items), err))
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
	h := bundle.ReadHeader(l.Code)
	l.Name, l.Version, l.Retired = h.Name, h.Version, h.Retired
	return l, nil
}

func digestOf(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}
