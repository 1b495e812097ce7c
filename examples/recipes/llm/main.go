// Command llm passes chats on to a model's API, streams the answers, and charges each API key for the tokens that the model counted.
package main

import (
	"bufio"
	"io"
	"log"
	"net/http"
	"os"
	"regexp"
	"strconv"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/guard"
	"github.com/rlfunc/rlfunc/guard/httpguard"
	"github.com/rlfunc/rlfunc/guard/policy"
)

func main() {
	limits, err := policy.Load("limits.yaml")
	must(err)
	g, err := guard.New(redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", ContextTimeoutEnabled: true}), limits, guard.Options{})
	must(err)
	m, err := httpguard.New(g, httpguard.Options{})
	must(err)
	must(http.ListenAndServe("127.0.0.1:8080", m.For("chat", http.HandlerFunc(chat))))
}

var usage = regexp.MustCompile(`"total_tokens"\s*:\s*(\d+)\b`) // so far, in each event or in the last one

func chat(w http.ResponseWriter, r *http.Request) {
	// Reads the answer to its end even if the client hangs up, because the model charges for it.
	answer, err := http.Post(os.Getenv("MODEL_URL"), "application/json", http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		answer = &http.Response{StatusCode: http.StatusBadGateway, Body: http.NoBody}
	}
	defer answer.Body.Close()
	w.Header()["Content-Type"], w.Header()["Retry-After"] = answer.Header["Content-Type"], answer.Header["Retry-After"]
	w.WriteHeader(answer.StatusCode)
	used := []string{""}
	for lines, line := bufio.NewReader(answer.Body), ""; err == nil; {
		line, err = lines.ReadString('\n')
		_, _ = io.WriteString(w, line)
		_ = http.NewResponseController(w).Flush()
		used = append(used, usage.FindStringSubmatch(line)...)
	}
	tokens, err := strconv.Atoi(used[len(used)-1])
	if err == nil || answer.StatusCode != http.StatusOK { // an error costs nothing, and an answer without a usage the estimate
		_ = httpguard.FromContext(r.Context()).Charge.Settle(r.Context(), 15*fcall.Micros(tokens)) // 15 dollars for a million tokens
	}
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
