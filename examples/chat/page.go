package main

import (
	_ "embed"
	"net/http"
)

//go:embed page.html
var pageHTML []byte

func page(w http.ResponseWriter, _ *http.Request) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'")
	_, _ = w.Write(pageHTML) // the client may have disconnected
}
