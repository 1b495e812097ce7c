package fcall

import (
	"regexp"
	"strings"
)

// Identity returns a text that says which libraries a program was generated from: "ratelimit_v1@1.2.0+cost_v1@1.0.0". A connection
// that carries it shows up in CLIENT LIST, where `rlfunc plan`, `deploy` and `retire` read who would break. In go-redis it is the
// IdentitySuffix, and ClientName is the name by which they call the program:
//
//	redis.NewClient(&redis.Options{
//		Addr:                  "127.0.0.1:6379",
//		ContextTimeoutEnabled: true,
//		ClientName:            "checkout",
//		IdentitySuffix:        fcall.Identity(ratelimit.Library, cost.Library),
//	})
//
// It costs nothing: go-redis sends CLIENT SETINFO for every new connection anyway. Servers before Redis 7.2 ignore it.
func Identity(libraries ...*Library) string {
	names := make([]string, len(libraries))
	for i, l := range libraries {
		names[i] = l.ServerName + "@" + l.Version
	}
	return strings.Join(names, "+")
}

// identified matches one library of an Identity. The version may end in build metadata, which follows a "+" as the next library does.
var identified = regexp.MustCompile(`^([A-Za-z0-9_]{1,128})@([0-9][0-9A-Za-z.-]{0,63})$`)

// ParseIdentity returns the versions of the libraries that the lib-name of a connection in CLIENT LIST states, by the libraries'
// names on the server. It accepts what clients put around an Identity, such as "go-redis(ratelimit_v1@1.2.0,go1.26.8)", and skips what
// is not part of one, so it returns nil for a connection that has none. Names and versions are safe to print.
func ParseIdentity(libName string) map[string]string {
	if _, inside, ok := strings.Cut(libName, "("); ok {
		libName = inside
	}
	if end := strings.IndexAny(libName, ",)"); end >= 0 {
		libName = libName[:end]
	}
	var versions map[string]string
	for part := range strings.SplitSeq(libName, "+") {
		if m := identified.FindStringSubmatch(part); m != nil {
			if versions == nil {
				versions = map[string]string{}
			}
			versions[m[1]] = m[2]
		}
	}
	return versions
}
