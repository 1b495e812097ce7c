package suites

import "github.com/rlfunc/rlfunc/gen/abuse"

// AttemptCounts are the rows of a status with these counts.
func AttemptCounts(n ...int64) []abuse.StatusTiersResult {
	rows := []abuse.StatusTiersResult{}
	for _, c := range n {
		rows = append(rows, abuse.StatusTiersResult{Count: c})
	}
	return rows
}
