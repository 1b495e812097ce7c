// Command typecheck type-checks the packages of the current directory, with their tests, for the systems given as GOOS/GOARCH.
// It finds what a compiler would refuse without generating code, so that a system takes seconds and not a minute.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"strings"
	"time"

	"golang.org/x/tools/go/packages"
)

func main() {
	here, err := os.Getwd()
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(2)
	}
	failed := false
	for _, system := range os.Args[1:] {
		goos, goarch, _ := strings.Cut(system, "/")
		start := time.Now()
		loaded, err := packages.Load(&packages.Config{
			Mode:  packages.LoadAllSyntax,
			Env:   append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+goarch),
			Tests: true,
			ParseFile: func(fset *token.FileSet, name string, src []byte) (*ast.File, error) {
				return parse(fset, name, src, strings.HasPrefix(name, here+string(os.PathSeparator)))
			},
		}, "./...")
		if err != nil {
			fmt.Fprintln(os.Stderr, "typecheck:", err)
			os.Exit(2)
		}
		found := 0
		for _, p := range loaded { // not what they import, nor the main packages of tests: without bodies their imports are unused
			if strings.HasSuffix(p.ID, ".test") {
				continue
			}
			for _, err := range p.Errors {
				fmt.Fprintln(os.Stderr, err)
				found++
			}
		}
		failed = failed || found > 0
		fmt.Printf("typecheck: %s: %d packages, %d errors, %d s\n", system, len(loaded), found, int(time.Since(start).Seconds()))
	}
	if failed {
		os.Exit(1)
	}
}

// parse leaves out the bodies of functions of other modules, which nothing here depends on. Generic functions need theirs.
func parse(fset *token.FileSet, name string, src []byte, ours bool) (*ast.File, error) {
	file, err := parser.ParseFile(fset, name, src, parser.SkipObjectResolution)
	if ours || file == nil {
		return file, err
	}
	for _, d := range file.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Type.TypeParams == nil && fn.Name.Name != "init" {
			fn.Body = nil
		}
	}
	return file, err
}
