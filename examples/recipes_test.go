package examples

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/cost"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// recipes are the programs of docs/recipes.md, in its order.
var recipes = []string{"login", "codes", "session", "quota", "llm", "budgets", "upload", "webhooks", "outbound"}

func TestRecipes_pageShowsThePrograms(t *testing.T) {
	var programs, policies []string
	for _, name := range recipes {
		program := read(t, "recipes/"+name+"/main.go")
		if n := strings.Count(program, "\n"); n >= 60 {
			t.Errorf("recipe %s has %d lines, want less than 60", name, n)
		}
		programs = append(programs, program)
		if text, err := os.ReadFile("recipes/" + name + "/limits.yaml"); err == nil {
			policies = append(policies, string(text))
		}
	}
	if diff := cmp.Diff(programs, blocks(t, "../docs/recipes.md", "go")); diff != "" {
		t.Errorf("the programs of docs/recipes.md (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(policies, blocks(t, "../docs/recipes.md", "yaml")); diff != "" {
		t.Errorf("the policies of docs/recipes.md (-want +got):\n%s", diff)
	}
	if folders, err := os.ReadDir("recipes"); err != nil || len(folders) != len(recipes) {
		t.Errorf("examples/recipes has %d programs, and the page %d: %v", len(folders), len(recipes), err)
	}
}

// A kitchen has all recipes, built for one Redis.
type kitchen struct{ dir, addr string }

func newKitchen(t *testing.T, redis string) kitchen {
	k := kitchen{t.TempDir(), engines.FreeAddr(t)}
	edits := strings.NewReplacer("127.0.0.1:6379", redis, "127.0.0.1:8080", k.addr, "time.Sleep(time.Second)", "time.Sleep(time.Hour)")
	files := map[string]string{"go.mod": "module recipes\n\ngo 1.26.0\n"}
	for _, name := range recipes {
		files[name+"/main.go"] = edits.Replace(read(t, "recipes/"+name+"/main.go"))
		if text, err := os.ReadFile("recipes/" + name + "/limits.yaml"); err == nil {
			// On a busy machine a slow answer is no failure of Redis, and must not let requests pass.
			files[name+"/limits.yaml"] = strings.Replace(string(text), "timeout: 1s\n", "", 1) + "timeout: 20s\n"
		}
	}
	for file, text := range files {
		path := filepath.Join(k.dir, file)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	checkout, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	shell(t, k.dir, nil, "go work init . '"+checkout+"' && mkdir bin && go build -ldflags=-s -o bin ./...")
	return k
}

func (k kitchen) command(t *testing.T, name string, env ...string) *exec.Cmd {
	cmd := exec.CommandContext(t.Context(), filepath.Join(k.dir, "bin", name))
	cmd.Dir = filepath.Join(k.dir, name)
	cmd.Env = append(os.Environ(), env...)
	return cmd
}

// serve runs a program until the test ends.
func (k kitchen) serve(t *testing.T, name string, env ...string) {
	t.Helper()
	guarded(k).run(t, k.command(t, name, env...))
}

// try runs the commands of the page's recipe, and compares what they print with what the page says.
func (k kitchen) try(t *testing.T, name string) {
	t.Helper()
	onpath.Program(t, "curl")
	k.serve(t, name)
	recipe := strings.Split(read(t, "../docs/recipes.md"), "\n## ")[1+slices.Index(recipes, name)]
	file := filepath.Join(t.TempDir(), "recipe.md")
	if err := os.WriteFile(file, []byte(recipe), 0o600); err != nil {
		t.Fatal(err)
	}
	month := regexp.MustCompile(`\w+, 01 \w+ \d+ `) // the next one
	got := shell(t, filepath.Join(k.dir, name), nil, strings.ReplaceAll(blocks(t, file, "sh")[0], "127.0.0.1:8080", k.addr))
	lines := regexp.MustCompile(` +\n`).ReplaceAllString(month.ReplaceAllString(got, ""), "\n")
	if diff := cmp.Diff(month.ReplaceAllString(blocks(t, file, "text")[0], ""), lines); diff != "" {
		t.Errorf("recipe %s prints (-page +run):\n%s", name, diff)
	}
}

func TestRecipes_doWhatThePageSays(t *testing.T) {
	server := embedded.New(embedded.Options{}) // engines' own stands still, and these programs live in time
	t.Cleanup(func() { server.Close() })
	addr, err := server.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	k := newKitchen(t, addr.String())
	want := func(t *testing.T, what, want, got string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: got %s, want %s", what, got, want)
		}
	}
	for _, name := range []string{"login", "codes", "session", "quota", "budgets", "upload"} {
		t.Run(name, func(t *testing.T) { k.try(t, name) })
	}
	t.Run("llm", func(t *testing.T) {
		rdb := server.Client()
		status, text := 200, "data: {\"text\":\"hello\"}\n\ndata: {\"usage\":{\"total_tokens\":1000}}\n\n"
		model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if status != 200 {
				w.Header().Set("Retry-After", "7")
			}
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(model.Close)
		shell(t, filepath.Join(k.dir, "llm"), nil, `echo "$(printf k | sha256sum | cut -d ' ' -f 1) ada" > keys.txt`)
		chat := func(t *testing.T) string {
			t.Helper()
			r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+k.addr+"/v1/chat", strings.NewReader("{}"))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer k")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprint(answer.StatusCode, answer.Header.Get("Retry-After"), " ", string(body))
		}
		spent := func(t *testing.T) string {
			t.Helper()
			budgets, err := cost.New(rdb, fcall.Options{})
			if err != nil {
				t.Fatal(err)
			}
			r, err := budgets.Peek(t.Context(), cost.PeekParams{Subject: "key=ada", Budgets: cost.PackBudget(cost.Budget{Budget: 5_000_000, Window: 24 * time.Hour, Name: "day"})})
			if err != nil {
				t.Fatal(err)
			}
			return r.Budgets[0].Spent.String()
		}
		t.Run("an answer", func(t *testing.T) {
			k.serve(t, "llm", "MODEL_URL="+model.URL)
			want(t, "a chat", "200 data: {\"text\":\"hello\"}\n\ndata: {\"usage\":{\"total_tokens\":1000}}\n\n", chat(t))
			want(t, "spent", "0.015000", spent(t))
			text = `{"text":"` + strings.Repeat("x", 100<<10) + `","usage":{"total_tokens" : 1000}}`
			want(t, "a long line", "200 "+text, chat(t))
			text = strings.Repeat("data: {\"usage\":{\"total_tokens\":500}}\n\n", 3) + "data: {\"usage\":{\"total_tokens\":1000}}\n\n"
			want(t, "a usage in each chunk", "200 "+text, chat(t))
			want(t, "spent", "0.045000", spent(t))
			for status = range map[int]bool{429: true, 500: true} {
				text = "{}"
				want(t, "an error", fmt.Sprint(status, "7 {}"), chat(t))
			}
			want(t, "spent", "0.045000", spent(t))
		})
		t.Run("no answer", func(t *testing.T) {
			k.serve(t, "llm", "MODEL_URL=http://127.0.0.1:1")
			want(t, "a chat", "502 ", chat(t))
			want(t, "spent", "0.045000", spent(t))
		})
	})
	t.Run("webhooks", func(t *testing.T) {
		var got atomic.Int32
		customer := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
		t.Cleanup(customer.Close)
		cmd, began := k.command(t, "webhooks"), time.Now()
		cmd.Stdin = strings.NewReader(strings.Repeat(fmt.Sprintf("{\"customer\":\"ada\",\"url\":%q,\"body\":\"{}\"}\n", customer.URL), 3))
		out, err := cmd.CombinedOutput()
		took := time.Since(began)
		if err != nil || len(out) > 0 || got.Load() != 3 || took < 200*time.Millisecond {
			t.Errorf("delivered %d of 3 in %v, at 10 per second: %v\n%s", got.Load(), took, err, out)
		}
		policy := filepath.Join(k.dir, "webhooks/limits.yaml")
		if err := os.WriteFile(policy, []byte(read(t, policy)+"overrides: {deny: [customer=ada]}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		denied := k.command(t, "webhooks")
		denied.Stdin = strings.NewReader(fmt.Sprintf("{\"customer\":\"ada\",\"url\":%q}\n", customer.URL))
		if out, err := denied.CombinedOutput(); err != nil || got.Load() != 3 || !strings.HasSuffix(string(out), "refused: denied\n") {
			t.Errorf("to a denied customer: delivered %d: %v\n%s", got.Load()-3, err, out)
		}
	})
	t.Run("outbound", func(t *testing.T) {
		var got atomic.Int32
		api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if got.Add(1) == 1 {
				w.Header().Set("Retry-After", "1")
				w.WriteHeader(http.StatusTooManyRequests)
				return
			}
			_, _ = io.WriteString(w, r.URL.Path+"\n")
		}))
		t.Cleanup(api.Close)
		cmd, began := k.command(t, "outbound", "API_URL="+api.URL), time.Now()
		cmd.Stdin = strings.NewReader("a\nb\nc\n")
		out, err := cmd.CombinedOutput()
		if took := time.Since(began); err != nil || string(out) != "/v1/items/a\n/v1/items/b\n/v1/items/c\n" || got.Load() != 4 || took < time.Second {
			t.Errorf("%d requests in %v, of which one was asked to wait 1 s: %v\n%s", got.Load(), took, err, out)
		}
	})
}
