// Package spelling suggests the word that a misspelt one was meant to be.
package spelling

import "strings"

// maxWord is the most bytes of a word that has a suggestion.
const maxWord = 64

// Nearest returns the candidate nearest to a misspelt word, without regard to case, or "" if none is near.
func Nearest(word string, candidates []string) string {
	best, bestDistance := "", 3
	if len(word) > maxWord {
		return ""
	}
	for _, c := range candidates {
		limit := 2
		if len(c) < 5 {
			limit = 1 // "set" is not a misspelling of "text"
		}
		if d := distance(strings.ToLower(word), strings.ToLower(c)); d <= limit && d < bestDistance {
			best, bestDistance = c, d
		}
	}
	return best
}

// DidYouMean returns the end of a message about an unknown word: "; did you mean count?", or "".
func DidYouMean(word string, candidates []string) string {
	if best := Nearest(word, candidates); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}

// distance returns the edit distance of two words, where a swap of neighbours is one edit (optimal string alignment).
func distance(a, b string) int {
	rows := make([][]int, len(a)+1)
	for i := range rows {
		rows[i] = make([]int, len(b)+1)
		rows[i][0] = i
	}
	for j := range rows[0] {
		rows[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			rows[i][j] = min(rows[i-1][j]+1, rows[i][j-1]+1, rows[i-1][j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				rows[i][j] = min(rows[i][j], rows[i-2][j-2]+1)
			}
		}
	}
	return rows[len(a)][len(b)]
}
