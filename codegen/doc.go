// Package codegen holds the public part of the code generator: package spec, the contract of a library as data, which
// programs read from rlfunc describe --json. The generator itself is in internal/codegen; run it with rlfunc generate.
package codegen
