package serve

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/guard/policy"
)

func TestPage_policiesParse(t *testing.T) {
	const page = "../docs/serve.md"
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	snippets := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1)
	if len(snippets) < 2 {
		t.Fatalf("%d policies", len(snippets))
	}
	for _, s := range snippets {
		if strings.Contains(s[1], "type.googleapis.com") {
			continue // a route of Envoy, which package envoyguard reads
		}
		if _, err := policy.Parse(page, []byte(s[1])); err != nil {
			t.Errorf("%v in\n%s", err, s[1])
		}
	}
}
