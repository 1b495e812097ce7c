package breaking

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/internal/bundle"
	"github.com/rlfunc/rlfunc/codegen/internal/luasrc"
	"github.com/rlfunc/rlfunc/codegen/internal/source"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

// A Snapshot is one version of some libraries.
type Snapshot struct {
	Name      string // where it is, for messages: a server without its password
	Root      string // how messages call the source tree, "functions"
	Libraries []Library
	Released  *Released // what released.sum says, or nil where there is none
	// Live reports that the snapshot is a server's: it may hold other libraries too, and its code is deployed.
	Live bool
}

// A Library is one version of a library.
type Library struct {
	Spec   spec.Library
	Digest string            // SHA-256 of the bundle, in hexadecimal digits
	Code   map[string]string // by file: a digest of its Lua, without comments and blanks
}

// Of takes the snapshot of a tree that was read without a finding.
func Of(tree *source.Tree) *Snapshot {
	s := &Snapshot{Root: tree.Root}
	for _, lib := range tree.Libraries {
		s.Libraries = append(s.Libraries, of(lib, bundle.Write(lib)))
	}
	return s
}

// OfBundle takes the library of a bundle that a server holds.
func OfBundle(code string) (Library, error) {
	lib, err := bundle.Read(code)
	if err != nil {
		return Library{}, err
	}
	return of(lib, code), nil
}

func of(lib *source.Library, bytes string) Library {
	l := Library{Spec: lib.Spec, Digest: Digest(bytes), Code: map[string]string{}}
	for _, f := range lib.Files {
		l.Code[f.Path] = code(f)
	}
	for _, used := range lib.Libs {
		l.Code[used.File.Path] = code(used.File)
	}
	return l
}

// Digest is the SHA-256 of a bundle, in hexadecimal digits.
func Digest(code string) string {
	sum := sha256.Sum256([]byte(code))
	return hex.EncodeToString(sum[:])
}

func code(f *luasrc.File) string {
	var b strings.Builder
	for _, t := range f.Tokens {
		b.WriteString(text(t))
		b.WriteByte(0)
	}
	return Digest(b.String())
}

// text keeps a name apart from a string of the same letters.
func text(t ast.Token) string { return string(rune(t.Type)) + t.Str }

func (s *Snapshot) named(name string) []*Library {
	var out []*Library
	for i := range s.Libraries {
		if s.Libraries[i].Spec.Name == name {
			out = append(out, &s.Libraries[i])
		}
	}
	return out
}

// function finds a function of the library by its name.
func (l *Library) function(name string) *spec.Function {
	i := slices.IndexFunc(l.Spec.Functions, func(f spec.Function) bool { return f.Name == name })
	if i < 0 {
		return nil
	}
	return &l.Spec.Functions[i]
}
