package annotation

import (
	"regexp"
	"slices"
	"strings"
)

var (
	nameForm   = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)
	suffixForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	codeForm   = regexp.MustCompile(`^[A-Z][A-Z0-9]*$`)
	semverForm = regexp.MustCompile(`^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z.-]+)?$`)
)

var luaKeywords = []string{
	"and", "break", "do", "else", "elseif", "end", "false", "for", "function", "goto", "if", "in", "local", "nil", "not",
	"or", "repeat", "return", "then", "true", "until", "while",
}

// unitSuffixes are endings that say a unit which the type says already.
var unitSuffixes = []string{"_us", "_ms", "_ns", "_sec", "_secs", "_seconds", "_micros", "_millis", "_min", "_minutes"}

func isKeyword(name string) bool { return slices.Contains(luaKeywords, name) }

// nearest finds the candidate that a misspelt word was likely meant to be; "" when none is near.
func nearest(word string, candidates []string) string {
	best, bestDistance := "", 3
	for _, c := range candidates {
		if d := distance(strings.ToLower(word), c); d < bestDistance && d < len(c) {
			best, bestDistance = c, d
		}
	}
	return best
}

// distance is the edit distance of two words, a swap of neighbours counting one (optimal string alignment).
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

func didYouMean(word string, candidates []string) string {
	if best := nearest(word, candidates); best != "" {
		return "; did you mean " + best + "?"
	}
	return ""
}
