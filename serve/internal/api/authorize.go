package api

import (
	"net/http"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
)

// Authorize returns a handler that passes on requests with a bearer token whose SHA-256 is in a file, see identity.Digests. The file is
// reloaded until close is called.
func Authorize(file string, next http.Handler) (h http.Handler, close func() error, err error) {
	tokens, err := identity.NewDigests(file)
	if err != nil {
		return nil, nil, err
	}
	const header = "Bearer"
	reader, err := identity.New(identity.Options{}, identity.Config{Name: "program", Header: header, Verify: tokens})
	if err != nil {
		return nil, nil, err
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		lines := r.Header["Authorization"]
		if len(lines) == 1 {
			if kind, token, _ := strings.Cut(lines[0], " "); strings.EqualFold(kind, "Bearer") {
				found, err := reader.Read(&http.Request{Header: http.Header{header: {token}}}, nil)
				if err == nil && found.Subject("program") != "" {
					next.ServeHTTP(w, r)
					return
				}
			}
		}
		w.Header().Set("WWW-Authenticate", "Bearer")
		fail(w, r, http.StatusUnauthorized, "unauthorized", "The request needs one bearer token of the tokens file.")
	}), reader.Close, nil
}
