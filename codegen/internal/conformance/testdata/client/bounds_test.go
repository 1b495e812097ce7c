package conformance

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/codegen/internal/conformance/gen/everything"
	"github.com/rlfunc/rlfunc/fcall"
)

// A result with fewer or more rows than its bounds say is an error of the call, in every form of the reply.
func TestResults_boundsOfRowsHold(t *testing.T) {
	each(t, func(t *testing.T, _ *redis.Client, c *everything.Client) {
		for rows := range int64(5) {
			short, err := c.Short(t.Context(), everything.ShortParams{Subject: "u", Rows: rows})
			var want []everything.ShortResultsResult
			for range rows {
				want = append(want, everything.ShortResultsResult{Allowed: true, Wait: time.Millisecond})
			}
			outside(t, err, rows >= 1 && rows <= 3, "result results must have 1 to 3 rows")
			if diff := cmp.Diff(want, short.Results); err == nil && diff != "" {
				t.Errorf("%d short rows (-want +got):\n%s", rows, diff)
			}
			for items := range int64(4) {
				few, err := c.Few(t.Context(), everything.FewParams{Subject: "u", Rows: rows, Items: items})
				inRows, inItems := rows >= 2 && rows <= 3, items >= 1 && items <= 2
				must := "result numbers must have 1 to 2 rows"
				if inItems {
					must = "result results must have 2 to 3 rows"
				}
				outside(t, err, inRows && inItems, must)
				if err == nil && (len(few.Results) != int(rows) || len(few.Numbers) != int(items)) {
					t.Errorf("%d rows and %d items: got %+v", rows, items, few)
				}
			}
		}
	})
}

func outside(t *testing.T, err error, inside bool, must string) {
	t.Helper()
	if inside && err != nil {
		t.Errorf("got %v", err)
	}
	if !inside && (!errors.Is(err, fcall.ErrScript) || !strings.Contains(err.Error(), must)) {
		t.Errorf("got %v, want ErrScript with %q", err, must)
	}
}
