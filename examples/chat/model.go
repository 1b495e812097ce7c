package main

import (
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"
)

// An answer is a text of the model and its cost: the words of question and answer.
type answer struct {
	text   string
	tokens int64
}

var vocabulary = strings.Fields("a limit is a promise to every other client; what one takes at once the others wait for, and each of them knows how long")

// think simulates a language model. The same question has the same answer, of twice as many words plus five.
func think(q question, pace time.Duration) answer {
	seed := fnv.New64a()
	_, _ = seed.Write([]byte(q.Message)) // never fails
	dice := rand.New(rand.NewPCG(seed.Sum64(), 0))
	n := min(2*tokensOf(q.Message)+5, q.MaxTokens)
	words := make([]string, n)
	for i := range words {
		words[i] = vocabulary[dice.IntN(len(vocabulary))]
	}
	time.Sleep(time.Duration(n) * pace)
	return answer{text: strings.Join(words, " "), tokens: tokensOf(q.Message) + n}
}

func tokensOf(text string) int64 { return int64(len(strings.Fields(text))) }
