package clienttest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// NodeModules is where Debian puts the modules of Node.js.
const NodeModules = "/usr/share/nodejs"

const tsconfig = `{
  "compilerOptions": {
    "target": "ES2020", "module": "CommonJS", "moduleResolution": "node", "lib": ["ES2020", "DOM"], "types": [],
    "strict": true, "noUncheckedIndexedAccess": true, "exactOptionalPropertyTypes": true, "noUnusedLocals": true, "skipLibCheck": true,
    "baseUrl": ".", "paths": {"rlfunc-clients": ["./node_modules/rlfunc-clients"], "*": ["` + NodeModules + `/*"]}
  },
  "include": ["*.ts"]
}
`

// TypeScript returns a folder in which the compiled clients of libraries are installed as rlfunc-clients, and a tsconfig.json for
// programs that use them over node-redis.
func TypeScript(t testing.TB, roots ...string) string {
	t.Helper()
	tsc := onpath.Program(t, "tsc")
	onpath.Program(t, "node")
	if _, err := os.Stat(NodeModules + "/redis"); err != nil {
		onpath.Lacking(t, "node-redis is not installed: %v", err)
	}
	dir := t.TempDir()
	installed := filepath.Join(dir, "node_modules", "rlfunc-clients")
	Generate(t, codegen.TypeScript, installed, roots...)
	Write(t, filepath.Join(dir, "tsconfig.json"), []byte(tsconfig))
	Run(t, installed, nil, tsc, "-p", ".")
	if t.Failed() {
		t.FailNow()
	}
	return dir
}
