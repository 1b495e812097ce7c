package adapter_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the adapter of valkey-go")

// valkeys are the names in valkey-go of what rueidis, from which it was forked, has.
var valkeys = strings.NewReplacer(
	"github.com/redis/rueidis", "github.com/valkey-io/valkey-go",
	"adapter/rueidis", "adapter/valkeygo",
	"ackage rueidis", "ackage valkeygo",
	"rueidis.RedisResult", "valkey.ValkeyResult",
	"rueidis.RedisMessage", "valkey.ValkeyMessage",
	"rueidis.IsRedisNil", "valkey.IsValkeyNil",
	"NonRedisError", "NonValkeyError",
	"Rueidis", "Valkey",
)

const mark = "// Code generated from adapter/rueidis by go test ./fcall/adapter -update. DO NOT EDIT.\n\n"

// The adapter of valkey-go is that of rueidis with other names.
func TestValkeygo_isTheTwinOfRueidis(t *testing.T) {
	files, err := filepath.Glob("rueidis/*.go")
	if err != nil || len(files) < 4 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		want := valkeys.Replace(strings.ReplaceAll(string(source), "\r\n", "\n"))
		want = regexp.MustCompile(`\brueidis\.`).ReplaceAllString(want, "valkey.")
		want = mark + strings.ReplaceAll(want, "rueidis", "valkey-go")
		twin := strings.ReplaceAll(file, "rueidis", "valkeygo")
		if *update {
			if err := os.WriteFile(twin, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(twin)
		if diff := cmp.Diff(want, strings.ReplaceAll(string(got), "\r\n", "\n")); err != nil || diff != "" {
			t.Errorf("%s: run go test ./fcall/adapter -update (-want +got): %v\n%s", twin, err, diff)
		}
	}
}
