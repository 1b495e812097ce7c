// Package middleware shows a guard in front of net/http, chi, gin, echo and gRPC. It is a module of its own, so that no service that uses
// rlfunc gets routers that it does not use.
package middleware
