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
	g, err := guard.New(redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379"}), limits, guard.Options{})
	must(err)
	m, err := httpguard.New(g, httpguard.Options{})
	must(err)
	must(http.ListenAndServe("127.0.0.1:8080", m.For("chat", http.HandlerFunc(chat))))
}

const perToken = fcall.Micros(15)                            // 15 dollars for a million tokens
var usage = regexp.MustCompile(`"total_tokens": ?(\d{1,9})`) // in the last event of the stream

func chat(w http.ResponseWriter, r *http.Request) {
	charge := httpguard.FromContext(r.Context()).Charge
	// Reads the answer to its end even if the client hangs up, because the model charges for it.
	answer, err := http.Post(os.Getenv("MODEL_URL"), "application/json", http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		_ = charge.Settle(r.Context(), 0) // nothing was spent
		w.WriteHeader(http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	w.WriteHeader(answer.StatusCode)
	for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
		_, _ = io.WriteString(w, lines.Text()+"\n")
		_ = http.NewResponseController(w).Flush()
		if found := usage.FindStringSubmatch(lines.Text()); found != nil {
			tokens, _ := strconv.Atoi(found[1])
			_ = charge.Settle(r.Context(), perToken*fcall.Micros(tokens))
		}
	} // if there was no usage, the estimate stays charged
}

func must(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
