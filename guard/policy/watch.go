package policy

import (
	"context"
	"time"

	"github.com/rlfunc/rlfunc/internal/reload"
)

// Watch calls f with the policy in a file, or with its error: once before Watch returns, then within a second after each change of the
// content. Calls never overlap. On an error, keep the current policy. Watch follows files that are renamed over, swapped by symbolic
// links (as in a ConfigMap), or removed and created again. It ends with ctx.
func Watch(ctx context.Context, path string, f func(*Policy, error)) {
	var p *Policy
	file := reload.File(path, MaxFileSize+1, func(content []byte) (err error) { // Parse refuses a byte more
		parsed, err := Parse(path, content)
		if err == nil {
			p = parsed
		}
		return err
	})
	report := func(err error) {
		if err != nil {
			f(nil, err)
		} else {
			f(p, nil)
		}
	}
	report(file.Load())
	go file.Follow(ctx, time.Second/2, report)
}
