// Package middleware shows guard with net/http, chi, gin, echo and gRPC. It is a separate module, so that services that use rlfunc do not
// depend on these routers.

package middleware
