package httpguard

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/rlfunc/rlfunc/guard/identity"
)

// ForwardAuth returns a handler that decides the requests of a proxy, as nginx's auth_request, Caddy's forward_auth and Traefik's
// ForwardAuth ask. It answers 204 with the RateLimit fields to a request that may pass, and otherwise as [Middleware.Handler].
//
// The proxy's headers describe the request to decide:
//
//	X-Forwarded-Method, X-Forwarded-Uri, X-Forwarded-Host     Caddy, Traefik
//	X-Original-Method, X-Original-Uri, X-Original-Host        nginx
//
// The policy's forwarded header, such as X-Forwarded-For, names the client. The handler answers 403 unless the peer is a trusted proxy of the
// policy. It answers 400 if a header is missing or has two lines, and if headers of two rows are present: a proxy sets those of its row, so
// those of another row are a client's.
//
// With the query refuse=403 each refusal has status 403. Its own status and body are then in the headers X-Refusal-Status and
// X-Refusal-Body. nginx needs that, because auth_request passes on no other status and no body.
//
// It reads no body. A request that announces one is answered at once, and its connection is closed.
//
// The response to the request is not known here. A limit that counts some responses counts each request, and a budget is charged the estimate.
// A limit of kind concurrency has no effect: the places are released before the request runs.
func (m *Middleware) ForwardAuth() http.Handler {
	guarded := m.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		FromContext(r.Context()).Charge.Count(r.Context(), true)
		w.WriteHeader(http.StatusNoContent)
	}))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 && r.ProtoMajor == 1 {
			w.Header().Set("Connection", "close") // or net/http waits for the body, which many proxies announce and do not send
		}
		if r.URL.RawQuery == "refuse=403" {
			r = r.WithContext(context.WithValue(r.Context(), onlyForbidden{}, true))
		}
		switch err := m.routes().reader.Forwarded(r); err {
		case nil:
		case identity.ErrUntrusted:
			m.refuse(w, r, &Problem{Status: http.StatusForbidden, Error: "untrusted_proxy", Message: "The peer is not a trusted proxy.", Cause: err})
			return
		default:
			m.refuse(w, r, &Problem{Status: http.StatusBadRequest, Error: "bad_request", Message: "The proxy does not name the client.", Cause: err})
			return
		}
		original, err := originalRequest(r)
		if err != nil {
			m.refuse(w, r, &Problem{Status: http.StatusBadRequest, Error: "bad_request", Message: "The proxy does not describe the request: " + err.Error() + ".", Cause: err})
			return
		}
		guarded.ServeHTTP(w, original)
	})
}

// onlyForbidden is the context key of requests whose refusals all have status 403.
type onlyForbidden struct{}

// forbid moves the status and the body of a problem to headers.
func (p *Problem) forbid(header http.Header) *Problem {
	if body, err := json.Marshal(p); err == nil {
		header.Set("X-Refusal-Body", string(body))
	}
	header.Set("X-Refusal-Status", strconv.Itoa(p.Status))
	forbidden := *p
	forbidden.Status = http.StatusForbidden
	return &forbidden
}

// originalRequest returns the request that a proxy describes by its headers.
func originalRequest(r *http.Request) (*http.Request, error) {
	prefix := "X-Forwarded-"
	if r.Header["X-Original-Method"] != nil || r.Header["X-Original-Uri"] != nil {
		prefix = "X-Original-"
		if r.Header["X-Forwarded-Method"] != nil || r.Header["X-Forwarded-Uri"] != nil {
			return nil, errors.New("there are headers of two kinds of proxies, and a client may have sent one")
		}
	}
	method, err := only(r.Header, prefix+"Method")
	if err != nil {
		return nil, err
	}
	host, err := only(r.Header, prefix+"Host")
	if err != nil {
		return nil, err
	}
	text, err := only(r.Header, prefix+"Uri")
	if err != nil {
		return nil, err
	}
	u, err := parseURI(prefix+"Uri", text)
	if err != nil {
		return nil, err
	}
	original := r.WithContext(r.Context()) // a copy
	original.Method, original.URL, original.Host, original.RequestURI = method, u, host, u.RequestURI()
	original.Body, original.ContentLength, original.TransferEncoding = io.NopCloser(strings.NewReader("")), 0, nil
	original.TLS = nil // the certificate is the proxy's
	return original, nil
}

// parseURI parses the path and query of a header.
func parseURI(name, text string) (*url.URL, error) {
	if text[0] != '/' {
		return nil, fmt.Errorf("%s has no path", name)
	}
	if strings.Contains(text, "#") {
		// Services that drop a fragment would serve another path than guard matches.
		return nil, fmt.Errorf("%s has a #", name)
	}
	u, err := url.ParseRequestURI(text)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be parsed", name)
	}
	return u, nil
}

// only returns the value of a header that has one line.
func only(header http.Header, name string) (string, error) {
	lines := header[name]
	if len(lines) != 1 || lines[0] == "" {
		return "", fmt.Errorf("it must send one %s, with a value", name)
	}
	return lines[0], nil
}
