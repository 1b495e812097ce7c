package policy

import _ "embed"

// Schema is schema.json, for editors: a file's first line is `# yaml-language-server: $schema=<where it stands>`. It knows
// keys, types and bounds; what contradicts each other only Check finds. A test makes it from the model.
//
//go:embed schema.json
var Schema []byte
