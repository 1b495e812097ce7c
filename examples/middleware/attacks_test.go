package middleware_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	chimiddleware "github.com/go-chi/chi/v5/middleware"

	"github.com/gin-gonic/gin"
	"github.com/go-chi/chi/v5"
	"github.com/labstack/echo/v4"
	echomiddleware "github.com/labstack/echo/v4/middleware"

	"github.com/rlfunc/rlfunc/embedded"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

// Each endpoint has a limit with its name, which the RateLimit header lists if it counts a request.
const paths = `
version: 1
timeout: 20s
endpoints:
  - {name: chat, match: ["POST /v1/chat"], limits: [{name: chat, kind: sliding_log, limit: 100000, window: 1h}]}
  - {name: search, match: ["/t/{tenant}/search"], limits: [{name: search, kind: sliding_log, limit: 100000, window: 1h}]}
  - {name: files, match: ["/files/"], limits: [{name: files, kind: sliding_log, limit: 100000, window: 1h}]}
  - {name: rest, match: ["/"], limits: [{name: rest, kind: sliding_log, limit: 1000000, window: 1h}]}
`

// ran is the response of each router's handlers.
const ran = "X-Ran"

func answer(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { w.Header().Set(ran, name) }
}

// routers are common routers with their options for paths.
func routers(t *testing.T) map[string]http.Handler {
	gin.SetMode(gin.ReleaseMode)
	all := map[string]http.Handler{}

	mux := http.NewServeMux()
	mux.Handle("POST /v1/chat", answer("chat"))
	mux.Handle("/t/{tenant}/search", answer("search"))
	mux.Handle("/files/", answer("files"))
	mux.Handle("/", answer("rest"))
	all["ServeMux"] = mux
	all["ServeMux, StripPrefix of nothing"] = http.StripPrefix("", mux)
	all["by URL.Path alone"] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch p := strings.TrimRight(r.URL.Path, "/"); {
		case p == "/v1/chat" && r.Method == http.MethodPost:
			answer("chat")(w, r)
		case strings.HasPrefix(p, "/t/") && strings.HasSuffix(p, "/search") && strings.Count(p, "/") == 3:
			answer("search")(w, r)
		case strings.HasPrefix(r.URL.Path, "/files/"):
			answer("files")(w, r)
		default:
			answer("rest")(w, r)
		}
	})

	for name, use := range map[string][]func(http.Handler) http.Handler{
		"chi": nil, "chi, StripSlashes": {chimiddleware.StripSlashes}, "chi, CleanPath": {chimiddleware.CleanPath},
		"chi, CleanPath and StripSlashes": {chimiddleware.CleanPath, chimiddleware.StripSlashes}, "chi, RedirectSlashes": {chimiddleware.RedirectSlashes},
	} {
		r := chi.NewRouter()
		r.Use(use...)
		r.Post("/v1/chat", answer("chat"))
		r.Handle("/t/{tenant}/search", answer("search"))
		r.Handle("/files/*", answer("files"))
		r.NotFound(answer("rest"))
		r.MethodNotAllowed(answer("rest"))
		all[name] = r
	}

	for bits := range 16 {
		e := gin.New()
		e.UseRawPath, e.UnescapePathValues, e.RemoveExtraSlash, e.RedirectFixedPath = bits&1 > 0, bits&2 > 0, bits&4 > 0, bits&8 > 0
		e.RedirectTrailingSlash = bits%2 == 0
		of := func(name string) gin.HandlerFunc { return gin.WrapF(answer(name)) }
		e.POST("/v1/chat", of("chat"))
		e.Any("/t/:tenant/search", of("search"))
		e.Any("/files/*rest", of("files"))
		e.NoRoute(of("rest"))
		all[fmt.Sprintf("gin, options %04b", bits)] = e
	}

	for name, pre := range map[string][]echo.MiddlewareFunc{
		"echo": nil, "echo, RemoveTrailingSlash": {echomiddleware.RemoveTrailingSlash()}, "echo, AddTrailingSlash": {echomiddleware.AddTrailingSlash()},
	} {
		e := echo.New()
		e.Pre(pre...)
		of := func(name string) echo.HandlerFunc { return echo.WrapHandler(answer(name)) }
		e.POST("/v1/chat", of("chat"))
		e.POST("/v1/chat/", of("chat"))
		e.Any("/t/:tenant/search", of("search"))
		e.Any("/t/:tenant/search/", of("search"))
		e.Any("/files/*", of("files"))
		e.RouteNotFound("/*", of("rest"))
		all[name] = e
	}

	// As a gateway in front of another process.
	behind := httptest.NewServer(mux)
	t.Cleanup(behind.Close)
	target, err := url.Parse(behind.URL)
	if err != nil {
		t.Fatal(err)
	}
	all["a gateway"] = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }}
	return all
}

// spellings are forms of the endpoints' paths.
func spellings() []string {
	chat := []string{
		"/v1/chat", "//v1/chat", "/v1//chat", "///v1///chat", "/v1/./chat", "/./v1/chat", "/v1/chat/.", "/x/../v1/chat", "/v1/x/../chat", "/../v1/chat",
		"/v1/chat/", "/v1/chat//", "/v1/chat/./", "/v1/chat/x/..", "/v1/chat/x/../", "/v1/ch%61t", "/v1/%63hat", "/%76%31/chat", "/v1%2Fchat", "/v1%2fchat",
		"/v1%2F%2Fchat", "%2Fv1/chat", "/%2Fv1/chat", "/v1/chat%2F", "/v1/chat%2f", "/v1/%2e/chat", "/%2e%2e/v1/chat", "/x/%2e%2e/v1/chat", "/x%2F..%2Fv1/chat",
		"/x%2F%2e%2e%2Fv1%2Fchat", "/v1/%2E/chat", "/v1/chat/%2e", "/v1/chat/%2e%2e/chat", "/v1%252Fchat", "/v1/chat?x=/y", "/v1/chat;a=b", "/V1/chat",
		"/v1/chat%20", "/v1/chat%00", "/v1\\chat", "/x%2Fy/%2e%2e/v1/chat",
	}
	search := []string{
		"/t/a/search", "/t//search", "/t/./search", "/t/../search", "/t/%2F/search", "/t/%2f/search", "/t/%2e%2e/search", "/t/%2E/search", "/t/a%2Fb/search",
		"/t/a/search/", "/t/a//search", "/t//a/search", "/t/a/./search", "/t/a%2Fsearch", "/t%2Fa/search", "/t/x/..//search", "/t//../search", "/t/%00/search",
		"/t/%20/search", "/t/a/b/../search", "/t/%252F/search", "/T/a/search", "/t/a/search/.", "/t/a/search/%2e", "/x/../t/a/search",
	}
	files := []string{"/files", "/files/", "/files/a", "/files//a", "/files/../files/a", "/files%2Fa", "//files/a", "/x/../files/a", "/files/%2e%2e/files/a", "/./files/"}
	return append(append(chat, search...), files...)
}

// The endpoint that a router selects has always counted the request.
func TestRouters_noSpellingEvadesLimits(t *testing.T) {
	p, err := policy.Parse("paths.yaml", []byte(paths))
	if err != nil {
		t.Fatal(err)
	}
	server := embedded.New(embedded.Options{})
	t.Cleanup(func() { _ = server.Close() })
	rdb := server.Client()
	t.Cleanup(func() { _ = rdb.Close() })
	g, err := guard.New(rdb, p, guard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m, err := httpguard.New(g, httpguard.Options{})
	if err != nil {
		t.Fatal(err)
	}
	tried, reached := 0, map[string]int{}
	for name, router := range routers(t) {
		guarded := m.Handler(router)
		for _, spelling := range spellings() {
			for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodHead, http.MethodConnect} {
				u, err := url.ParseRequestURI(spelling)
				if err != nil {
					continue // no server hands it on
				}
				r := httptest.NewRequest(http.MethodGet, "/", nil)
				r.Method, r.URL, r.RequestURI = method, u, spelling
				w := httptest.NewRecorder()
				guarded.ServeHTTP(w, r)
				tried++
				handler := w.Header().Get(ran)
				if handler == "" {
					continue // a redirect, or nothing
				}
				reached[handler]++
				if counted := w.Header().Get("RateLimit"); !strings.Contains(counted, `"`+handler+`"`) && handler != "rest" {
					t.Errorf("%s: %s %s reaches %s, counted by %s", name, method, spelling, handler, counted)
				}
				if w.Code >= 500 {
					t.Errorf("%s: %s %s: %d", name, method, spelling, w.Code)
				}
			}
		}
	}
	t.Logf("%d requests over %d spellings; %v", tried, len(spellings()), reached)
	for _, handler := range []string{"chat", "search", "files", "rest"} {
		if reached[handler] == 0 {
			t.Errorf("no spelling reaches %s", handler)
		}
	}
}
