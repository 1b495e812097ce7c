package project_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/cmd/rlfunc/internal/project"
)

const everyKey = `functions: lua
gen: made
python: made/python
typescript: made/typescript
targets:
  production:
    redis: rediss://${USER_NAME}:${PASS}@h:1
    namespace: shop
    policy: policy.yaml
    no-replicas: true
`

func TestParseConfig_suggestsTheKey(t *testing.T) {
	for text, want := range map[string]string{
		"function: lua":                       `rlfunc.yaml:1:1: unknown key "function"; did you mean functions? (keys: functions, gen, python, typescript, bundles, targets)`,
		"targets:\n  a:\n    reddis: x":       `rlfunc.yaml:3:5: unknown key "reddis"; did you mean redis? (keys: redis, namespace, policy, no-replicas)`,
		"plugins: [{command: [a], out: b}]":   "rlfunc.yaml:1:1: the key plugins went: remove it; a client in another language sends FCALL itself",
		"targets:\n  a:\n    channel: canary": "rlfunc.yaml:3:5: the key channel went: remove it; to try a version beside the current one, raise the library's major version",
		"functions: ../x":                     `rlfunc.yaml: functions must be a folder inside the project, got "../x"`,
		"targets: {a: {namespace: shop}}":     "rlfunc.yaml: targets.a.redis must be a URL, such as redis://127.0.0.1:6379 or ${REDIS_URL}",
	} {
		_, err := project.ParseConfig("rlfunc.yaml", []byte(text))
		if err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

func TestTarget_replacesEnvironmentVariables(t *testing.T) {
	config, err := project.ParseConfig("rlfunc.yaml", []byte(everyKey))
	if err != nil {
		t.Fatal(err)
	}
	p := &project.Project{Dir: "/shop", Config: config}
	t.Setenv("USER_NAME", "ada")
	t.Setenv("PASS", "")
	if _, err := p.Target("production"); err == nil || !strings.Contains(err.Error(), "set the environment variable PASS") {
		t.Errorf("got %v", err)
	}
	t.Setenv("PASS", "$x${y}")
	got, err := p.Target("production")
	if err != nil {
		t.Fatal(err)
	}
	want := project.Target{Redis: "rediss://ada:$x$%7By%7D@h:1", Namespace: "shop", Policy: "/shop/policy.yaml", NoReplicas: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, err := p.Target("prodution"); err == nil || !strings.Contains(err.Error(), `has no target "prodution"; did you mean production? (targets: production)`) {
		t.Errorf("got %v", err)
	}
}
