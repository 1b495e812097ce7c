// Package order has a type that the conformance library names in its header.
package order

// An Order is what a json argument and a json result hold.
type Order struct {
	ID    string `json:"id"`
	Units int64  `json:"units,omitempty"`
}
