package plugin_test

import (
	"fmt"
	"os"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/plugin"
)

// A plugin's main calls Main; Run does the same on other streams.
func ExampleRun() {
	request := `{"format": 1, "source": "functions", "libraries": [{"format": 1, "name": "quota", "version": "1.0.0"}]}`
	err := plugin.Run(strings.NewReader(request), os.Stdout, func(r *plugin.Request) (map[string]string, error) {
		var versions strings.Builder
		for _, lib := range r.Libraries {
			fmt.Fprintln(&versions, lib.Name, lib.Version)
		}
		return map[string]string{"versions.txt": versions.String()}, nil
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: {"format":1,"files":[{"name":"versions.txt","content":"quota 1.0.0\n"}]}
}
