// Package architecture holds the rules between the rooms of this module.
package architecture

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/internal/onpath"
)

// TestImports_flowOneWay lists what each room must not reach, by way of whatever it imports.
func TestImports_flowOneWay(t *testing.T) {
	const module = "github.com/rlfunc/rlfunc/"
	forAuthors := []string{
		module + "codegen", module + "loader", module + "embedded", module + "lua_test", module + "functions",
		"github.com/yuin/gopher-lua", "github.com/Shopify/toxiproxy", "github.com/spf13/cobra", "github.com/goccy/go-yaml",
	}
	withoutRedis := []string{
		module + "codegen", module + "loader", module + "embedded", module + "lua_test", module + "functions", module + "gen",
		"github.com/redis/go-redis", "github.com/yuin/gopher-lua", "github.com/spf13/cobra",
	}
	forTests := []string{
		module + "codegen", module + "loader", module + "lua_test", "github.com/Shopify/toxiproxy", "github.com/spf13/cobra",
	}
	reached := map[string][]string{} // by the package that imports them, by one way or another
	for _, dir := range []string{"", "fcall/adapter/rueidis", "fcall/adapter/valkeygo"} {
		onpath.Used() // what it reads is not part of this program
		out, err := exec.CommandContext(t.Context(), "go", "-C", filepath.Join("../..", dir), "list", "-f", `{{.ImportPath}} {{join .Deps " "}}`, "./...").Output()
		if err != nil {
			t.Fatalf("go list in ./%s: %v", dir, err)
		}
		for line := range strings.Lines(string(out)) {
			words := strings.Fields(line)
			reached[words[0]] = words[1:]
		}
	}
	// Containers are for tests: only these, which nothing but tests imports, start them.
	forTestsAlone := []string{module + "internal/engines", module + "internal/callertest", module + "lua_test/internal/suites"}
	for name, deps := range reached {
		links := slices.ContainsFunc(deps, func(dep string) bool { return strings.HasPrefix(dep, "github.com/testcontainers/") })
		if links != slices.Contains(forTestsAlone, name) {
			t.Errorf("%s imports testcontainers, by one way or another: %t", name, links)
		}
	}
	for _, rule := range []struct {
		room string
		not  []string
	}{
		// A service links these.
		{"./fcall", append(forAuthors, module+"gen", "github.com/redis/rueidis", "github.com/valkey-io/")},
		{"./fcall/adapter", append(forAuthors, module+"gen", "github.com/redis/rueidis", "github.com/valkey-io/")},
		{"./fcall/calendar", append(forAuthors, module+"gen", "github.com/redis/go-redis")},
		{"./gen/...", forAuthors},
		{"./fcall/prefetch", forAuthors},
		{"./guard/report", []string{module + "codegen", module + "loader", module + "lua_test", "github.com/spf13/cobra"}},
		{"./guard/policy", withoutRedis},
		{"./guard/identity", append(withoutRedis, module+"guard/policy", "github.com/goccy/go-yaml")},
		// A service without metrics and gRPC links neither; a service with metrics brings the SDK or Prometheus's exporter.
		{"./guard", append(forTests, "go.opentelemetry.io/", "github.com/prometheus/", "google.golang.org/grpc")},
		{"./guard/telemetry", append(forTests, "go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters", "github.com/prometheus/", "google.golang.org/grpc")},
		{"./loader", []string{module + "codegen", module + "gen", module + "embedded", "github.com/yuin/gopher-lua", "github.com/spf13/cobra"}},
		// The generator is pure: source in, files out.
		{"./codegen/breaking", []string{module + "fcall", module + "gen", module + "loader", "github.com/redis/go-redis", "github.com/spf13/cobra"}},
		{"./codegen", []string{module + "fcall", module + "gen", module + "loader", "github.com/redis/go-redis", "github.com/spf13/cobra"}},
		{"./embedded", []string{module + "codegen", module + "gen", module + "loader", "github.com/spf13/cobra"}},
		{"./lua_test", []string{module + "internal/engines", "github.com/spf13/cobra"}},
		// A service links no server; one behind httpguard or grpcguard links no Envoy.
		{"./guard/envoyguard", append(forTests, module+"serve", "go.opentelemetry.io/otel/sdk", "github.com/prometheus/")},
		{"./guard/httpguard", append(forTests, module+"serve", "github.com/envoyproxy/")},
		{"./guard/grpcguard", append(forTests, module+"serve", "github.com/envoyproxy/")},
		{"./serve", []string{module + "codegen", module + "loader", module + "lua_test", "github.com/spf13/cobra"}},
		// An adapter is a module of its own, for callers that link no guard.
		{"./fcall/adapter/rueidis", append(forAuthors, module+"gen", module+"guard")},
		{"./fcall/adapter/valkeygo", append(forAuthors, module+"gen", module+"guard")},
	} {
		room, below := strings.CutSuffix(module+strings.TrimPrefix(rule.room, "./"), "/...")
		found := false
		for name, deps := range reached {
			if name != room && (!below || !strings.HasPrefix(name, room+"/")) {
				continue
			}
			found = true
			for _, dep := range append(deps, name) {
				for _, not := range rule.not {
					if dep == not || strings.HasPrefix(dep, strings.TrimSuffix(not, "/")+"/") {
						t.Errorf("%s imports %s, by one way or another", name, dep)
					}
				}
			}
		}
		if !found {
			t.Errorf("no package matches %s", rule.room)
		}
	}
}

// The methods of text/template are called by name, so the linker keeps every exported method of a program that executes a template: a quarter
// of the command. Cobra has one that it does not execute here, and a release leaves out grpc's by the tag grpcnotrace.
func TestImports_theCommandExecutesNoTemplate(t *testing.T) {
	onpath.Used()
	out, err := exec.CommandContext(t.Context(), "go", "-C", "../..", "list", "-deps", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./cmd/rlfunc").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		if strings.HasPrefix(words[0], "github.com/rlfunc/rlfunc/") && (slices.Contains(words, "text/template") || slices.Contains(words, "html/template")) {
			t.Errorf("%s imports a template: write text by code", words[0])
		}
	}
}
