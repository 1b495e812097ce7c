package policy

import _ "embed"

// Schema is the JSON Schema of a policy file, for editors: start a file with `# yaml-language-server: $schema=<URL or path>`. It covers
// keys, types and bounds; only [Policy.Check] finds contradictions. A test generates it from the structs.
//
//go:embed schema.json
var Schema []byte
