// Package functions holds the annotated Lua of this module's libraries, for tests and tools that need the source.
// A service imports a package of gen/ instead.
package functions

import "embed"

// FS has lib/ and one folder a library.
//
//go:embed */*.lua lib/*/*.lua
var FS embed.FS

// Root is what messages and bundles call the folder.
const Root = "functions"
