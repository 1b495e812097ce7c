// Package requires compares servers with the versions that a library requires.
package requires

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// A Server is a product and a version of it: what a server is, or the least version that a library runs on.
type Server struct {
	Product string `json:"product"` // "redis" or "valkey"; a server may be of another
	Version string `json:"version"` // "7.2"
}

// Embedded is the product of the embedded engine.
const Embedded = "embedded"

// productNames maps the products that a library may require to their names.
var productNames = map[string]string{"redis": "Redis", "valkey": "Valkey"}

// Product reports whether a library may require a product.
func Product(name string) bool { return productNames[name] != "" }

// ProductName is like "Redis" for "redis". Products that a library cannot require stay as they are.
func ProductName(product string) string { return cmp.Or(productNames[product], product) }

// String is like "Redis 7.2".
func (s Server) String() string {
	if s.Product == "" {
		return "a server of unknown version"
	}
	return strings.TrimSpace(ProductName(s.Product) + " " + s.Version)
}

// Servers are what a library requires: one of them. None means Oldest.
type Servers []Server

// Oldest are the first servers with functions, which every library requires.
var Oldest = Servers{{"redis", "7.0"}, {"valkey", "7.2"}}

// String is like "Redis 7.2 or Valkey 8.0".
func (s Servers) String() string {
	names := make([]string, len(s))
	for i, one := range s {
		names[i] = one.String()
	}
	return strings.Join(names, " or ")
}

// Field is the form in the head of a bundle, "redis-7.2,valkey-8.0".
func (s Servers) Field() string {
	fields := make([]string, len(s))
	for i, one := range s {
		fields[i] = one.Product + "-" + one.Version
	}
	return strings.Join(fields, ",")
}

// Parse reads the form of Field. It skips products that it does not know.
func Parse(field string) Servers {
	var out Servers
	for one := range strings.SplitSeq(field, ",") {
		product, version, _ := strings.Cut(one, "-")
		if Product(product) {
			out = append(out, Server{product, version})
		}
	}
	return out
}

// Met reports whether a product of some version is one of the servers. Products are compared without case.
func (s Servers) Met(product, version string) bool {
	return len(s) == 0 || slices.ContainsFunc(s, func(one Server) bool {
		return strings.EqualFold(one.Product, product) && AtLeast(version, one.Version)
	})
}

// Refusal returns why a library, "shop_v1 1.0.0", does not run on a server and what to do, or "" if it does. The embedded engine
// serves tests, so it may hold every library.
func (s Servers) Refusal(library string, server Server) string {
	if server.Product == Embedded || s.Met(server.Product, server.Version) {
		return ""
	}
	return library + " requires " + s.String() + " or later, and this is " + server.String() + "; upgrade the server"
}

// AtLeast reports whether a version, "7.2.4", is least or later. A part that is not a number counts as 0.
func AtLeast(version, least string) bool {
	return slices.Compare(numbers(version), numbers(least)) >= 0
}

// numbers returns the first three numbers of a version.
func numbers(version string) []int {
	out := make([]int, 3)
	parts := strings.Split(version, ".")
	for i, part := range parts[:min(len(parts), len(out))] {
		out[i], _ = strconv.Atoi(part)
	}
	return out
}
