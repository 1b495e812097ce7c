package contract

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
)

// Cached is Run of one library, which remembers in the user's cache folder that the same code was found to be without findings by the
// same program. Without such a folder it is Run.
func Cached(lib *Library, o Options) (*Report, error) {
	file := cacheFile(lib, o)
	if file != "" {
		var r Report
		if text, err := os.ReadFile(file); err == nil && json.Unmarshal(text, &r) == nil {
			return &r, nil
		}
	}
	r, err := Run([]*Library{lib}, o)
	if err != nil || len(r.Findings) > 0 || file == "" {
		return r, err
	}
	// What cannot be remembered is found again.
	kept := *r
	kept.Sequences = nil
	if text, err := json.Marshal(kept); err == nil && os.MkdirAll(filepath.Dir(file), 0o755) == nil {
		_ = os.WriteFile(file, text, 0o644)
	}
	return r, nil
}

// programDigest is the SHA-256 of the running program, read once; "" if it cannot be read.
var programDigest = sync.OnceValue(func() string {
	name, err := os.Executable()
	if err != nil {
		return ""
	}
	f, err := os.Open(name)
	if err != nil {
		return ""
	}
	defer f.Close()
	sum := sha256.New()
	if _, err := io.Copy(sum, f); err != nil {
		return ""
	}
	return hex.EncodeToString(sum.Sum(nil))
})

// cacheFile names the file of a run, by all that it depends on; "" if there is no place for it.
func cacheFile(lib *Library, o Options) string {
	folder, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	program := programDigest()
	if program == "" {
		return ""
	}
	sum := sha256.New()
	fmt.Fprintf(sum, "%s\n%+v\n%s%s", program, o, lib.Code, lib.Root)
	return filepath.Join(folder, "rlfunc", "contract", hex.EncodeToString(sum.Sum(nil))+".json")
}
