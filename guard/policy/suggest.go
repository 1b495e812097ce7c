package policy

import "fmt"

// didYouMean returns a hint at the value that is nearest to got, or "".
func didYouMean(got string, values []string) string {
	best, least := "", len(got)/3+2
	if len(got) > 64 {
		return ""
	}
	for _, v := range values {
		if d := distance(got, v); d < least {
			best, least = v, d
		}
	}
	if best == "" || least >= len(best) {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// distance is how many letters differ (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			above := row[j+1]
			if a[i] == b[j] {
				row[j+1] = diagonal
			} else {
				row[j+1] = min(diagonal, above, row[j]) + 1
			}
			diagonal = above
		}
	}
	return row[len(b)]
}
