// Package api is the JSON API of rlfunc serve: what guard decides, for programs in any language.
//
// Each operation is a POST with a JSON object. Errors are RFC 9457 problems. GET /openapi.json describes it: a test makes that file of the Go types.
package api

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/challenge"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/identity"
)

const maxBody = 64 << 10

//go:embed openapi.json
var document []byte

// An API answers programs. It is safe for concurrent use.
type API struct {
	guard      *guard.Guard
	rdb        redis.UniversalClient
	challenges *challenge.Client
	logger     *slog.Logger
	denied     sync.Map // paths of operations that Redis denied, each of which is logged once
}

// New returns the handler of the API.
func New(g *guard.Guard, rdb redis.UniversalClient, logger *slog.Logger) (http.Handler, error) {
	challenges, err := challenge.New(rdb, fcall.Options{Namespace: g.Policy().Namespace})
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	a := &API{guard: g, rdb: rdb, challenges: challenges, logger: logger}
	for _, op := range a.operations() {
		mux.HandleFunc("POST "+op.path, func(w http.ResponseWriter, r *http.Request) { op.serve(a, w, r) })
		mux.HandleFunc(op.path, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Allow", http.MethodPost)
			fail(w, r, http.StatusMethodNotAllowed, "method_not_allowed", "The operation is a POST.")
		})
	}
	mux.HandleFunc("GET /openapi.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(document)
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		fail(w, r, http.StatusNotFound, "not_found", "There is no such operation. GET /openapi.json lists them.")
	})
	return mux, nil
}

// An operation is a path that programs post to.
type operation struct {
	path, summary    string
	request, respond any // zero values, of which the test makes the document
	serve            func(*API, http.ResponseWriter, *http.Request)
}

func post[Q, A any](path, summary string, do func(context.Context, *Q) (*A, error)) operation {
	serve := func(api *API, w http.ResponseWriter, r *http.Request) {
		q := new(Q)
		if status, err := decode(w, r, q); err != nil {
			name := "bad_request"
			if status == http.StatusRequestEntityTooLarge {
				name = "too_large"
			}
			fail(w, r, status, name, "The body is not a request: "+err.Error()+".")
			return
		}
		ctx, cancel := context.WithTimeout(r.Context(), time.Second+api.guard.Policy().Timeout) // guard bounds a decision by Timeout
		defer cancel()
		a, err := do(ctx, q)
		if err != nil {
			p := problemOf(err)
			if p.Error == noPermission {
				if _, logged := api.denied.LoadOrStore(path, true); !logged {
					api.logger.Error("redis does not permit an operation of the API", "operation", path, "error", err)
				}
			}
			p.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Cache-Control", "no-store")
		_ = json.NewEncoder(w).Encode(a) // fails if the client disconnected
	}
	return operation{path: path, summary: summary, request: *new(Q), respond: *new(A), serve: serve}
}

const noPermission = "no_permission"

// problemOf returns the problem of an error. Programs learn which argument is wrong.
func problemOf(err error) *httpguard.Problem {
	p := httpguard.ProblemOf(err)
	switch {
	case errors.Is(err, guard.ErrUnavailable):
	case errors.Is(err, guard.ErrEndpoint):
		return &httpguard.Problem{Status: http.StatusNotFound, Error: "unknown_endpoint", Message: "The policy has no such endpoint.", Cause: err}
	case errors.Is(err, fcall.ErrArgument):
		p.Message = err.Error()
	case errors.Is(err, fcall.ErrNoPermission):
		p.Error, p.Message = noPermission, "The Redis user of rlfunc serve may not run this operation."
	case errors.Is(err, fcall.ErrOutcomeUnknown), errors.Is(err, guard.ErrTimeout):
		p.Status, p.Error, p.Message = http.StatusServiceUnavailable, "outcome_unknown", "Redis did not answer. The call may have run."
	case errors.Is(err, fcall.ErrUnavailable), errors.Is(err, fcall.ErrNotLoaded), errors.Is(err, guard.ErrBreaker):
		return httpguard.ProblemOf(guard.ErrUnavailable)
	}
	return p
}

func fail(w http.ResponseWriter, r *http.Request, status int, name, message string) {
	(&httpguard.Problem{Status: status, Error: name, Message: message}).ServeHTTP(w, r)
}

// Local returns a handler that passes on requests to this machine by a name of its own. A page in a browser here, whose own name its owner has
// resolve to this machine, sends that name.
func Local(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); ip == nil && !strings.EqualFold(host, "localhost") || ip != nil && !ip.IsLoopback() {
			fail(w, r, http.StatusMisdirectedRequest, "misdirected", "The Host of the request must be localhost or a loopback address, as there are no tokens.")
			return
		}
		next.ServeHTTP(w, r)
	})
}

// Authorize returns a handler that passes on requests with a bearer token whose SHA-256 is in a file, see identity.Digests. The file is
// reloaded until ctx ends.
func Authorize(ctx context.Context, file string, next http.Handler) (http.Handler, error) {
	const header = "Bearer"
	program := identity.Identity{Header: header, Verify: &identity.Verify{SHA256File: file}}
	reader, err := identity.New(map[string]identity.Identity{"program": program}, identity.Code{}, identity.Options{})
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = reader.Close() })
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
	}), nil
}
