// Package servers knows what a server is, by INFO and by its hash slots.
package servers

import (
	"cmp"
	"strings"
)

// A Server is a product and its version.
type Server struct {
	Product string `json:"product"` // "redis" or "valkey", or another
	Version string `json:"version"` // "7.2"
}

// Embedded is the product of the embedded engine.
const Embedded = "embedded"

// ProductName is like "Redis" for "redis". Others stay as they are.
func ProductName(product string) string {
	return cmp.Or(map[string]string{"redis": "Redis", "valkey": "Valkey"}[product], product)
}

// String is like "Redis 7.2".
func (s Server) String() string {
	if s.Product == "" {
		return "a server of unknown version"
	}
	return strings.TrimSpace(ProductName(s.Product) + " " + s.Version)
}
