package servers

import "strings"

// Info returns the fields of INFO's text.
func Info(text string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}

// products have their versions in fields such as valkey_version. Redis is last: the others have a redis_version too, for old clients.
var products = []string{"Valkey", "Dragonfly", "Kvrocks", "Garnet", "Redis"}

// Identify returns the product and the version of a server, "Valkey" and "8.1.1", by INFO's text. Both are empty if it has no version.
func Identify(text string) Server {
	field := Info(text)
	for _, product := range products {
		if version := field[strings.ToLower(product)+"_version"]; version != "" {
			if field["rlfunc_embedded"] != "" {
				product = Embedded
			}
			return Server{Product: product, Version: version}
		}
	}
	return Server{}
}
