// Package requires compares servers with the versions that a library requires.
package requires

import (
	"slices"
	"strconv"
	"strings"
)

// A Server is a product and the least version of it that a library runs on.
type Server struct {
	Product string `json:"product"` // "redis" or "valkey"
	Version string `json:"version"` // "7.2"
}

// productNames maps the products that a library may require to their names.
var productNames = map[string]string{"redis": "Redis", "valkey": "Valkey"}

// Product reports whether a library may require a product.
func Product(name string) bool { return productNames[name] != "" }

// String is like "Redis 7.2".
func (s Server) String() string { return productNames[s.Product] + " " + s.Version }

// Servers are what a library requires: one of them. None means Redis 7.0 and every version of Valkey.
type Servers []Server

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

// Refusal returns why a library, "shop_v1 1.0.0", does not run on a server, "Redis 7.0.15", and what to do.
func (s Servers) Refusal(library, server string) string {
	return library + " requires " + s.String() + " or later, and this is " + server + "; upgrade the server"
}

// AtLeast reports whether a version, "7.2.4", is least or later. A part that is not a number counts as 0.
func AtLeast(version, least string) bool {
	return slices.Compare(numbers(version), numbers(least)) >= 0
}

// numbers returns the first three numbers of a version.
func numbers(version string) []int {
	out := make([]int, 3)
	for i, part := range strings.SplitN(version, ".", len(out)) {
		out[i], _ = strconv.Atoi(part)
	}
	return out
}
