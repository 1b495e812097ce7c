package examples

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/internal/onpath"
)

// TestUpgrade_isWhatRuns plays docs/deploying.md#upgrade-and-roll-back on one server: it runs sh, applies a diff, and compares text with
// what the commands before it print. At the end it runs the CI steps of docs/reference/breaking-changes.md.
func TestUpgrade_isWhatRuns(t *testing.T) {
	onpath.Full(t)
	servers := engines.Real(t)
	if len(servers) == 0 {
		t.Fatal("no server for the page's commands: put redis-server on the path, or make images")
	}
	e := servers[0] // one is enough: the commands are pinned on each engine elsewhere
	e.Client(t)
	host, port, _ := strings.Cut(e.Addr, ":")
	dir := t.TempDir()
	env := append(
		withCommand(t), "REDIS_URL="+e.URL,
		"GIT_CONFIG_GLOBAL="+filepath.Join(dir, "none"), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=A", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=A", "GIT_COMMITTER_EMAIL=a@example.com",
	)
	fence := regexp.MustCompile("(?ms)^```([a-z]+)\n(.*?)^```\n")
	page := fence.FindAllStringSubmatch(read(t, "../docs/deploying.md#upgrade-and-roll-back")+read(t, "../docs/reference/breaking-changes.md"), -1)
	if len(page) == 0 {
		t.Fatal("the page has no block")
	}
	var steps []string
	for i, block := range page {
		language, body := block[1], block[2]
		switch language {
		case "sh":
			body = strings.ReplaceAll(body, "redis-cli ", "redis-cli -h "+host+" -p "+port+" ")
			want := i+1 < len(page) && page[i+1][1] == "text"
			if want {
				body = "{\n" + body + "} || [ $? = 2 ]\n"
			}
			out := shell(t, dir, env, body)
			if want {
				if diff := cmp.Diff(page[i+1][2], out); diff != "" {
					t.Errorf("%s prints (-want +got):\n%s", body, diff)
				}
			}
			if i == 0 {
				dir = filepath.Join(dir, "limits")
			}
		case "diff":
			shell(t, dir, env, "git apply --unidiff-zero - <<'DIFF'\n"+body+"DIFF\n")
		case "yaml":
			for line := range strings.Lines(body) {
				if command, ok := strings.CutPrefix(strings.TrimSpace(line), "- run: rlfunc "); ok {
					steps = append(steps, "rlfunc "+command+"\n")
				}
			}
		}
	}
	shell(t, dir, env, strings.Join(steps, ""))
}
