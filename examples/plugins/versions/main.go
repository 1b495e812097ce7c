// Command versions is a plugin of `rlfunc generate`: it lists the libraries and their versions.
package main

import "github.com/rlfunc/rlfunc/codegen/plugin"

func main() {
	plugin.Main(func(r *plugin.Request) (map[string]string, error) {
		text := "# " + plugin.Marker(r.Source) + "\n"
		for _, lib := range r.Libraries {
			text += lib.Name + " " + lib.Version + "\n"
		}
		return map[string]string{"versions.txt": text}, nil
	})
}
