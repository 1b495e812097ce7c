package faults

import (
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/ratelimit"
	"github.com/rlfunc/rlfunc/internal/engines"
	"github.com/rlfunc/rlfunc/loader"
)

// A pod of an old version that starts after a deploy calls the new version and overwrites nothing. Where the library is gone it loads
// its own, and a deploy puts the new one back. No call fails meanwhile.
func TestOldPod_overwritesNothing(t *testing.T) {
	m := engines.OnPath(t).Start(t)
	admin := m.Client(t)
	newer := *ratelimit.Library
	newer.Version = "1.1.0"
	newer.Code = strings.Replace(newer.Code, "version=1.0.0", "version=1.1.0", 1)
	target := loader.NewTarget(admin)
	apply := func() {
		t.Helper()
		plan, err := target.Plan(t.Context(), &newer)
		if err == nil {
			_, err = target.Apply(t.Context(), plan, loader.ApplyOptions{})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	holdsCode := func(lib *fcall.Library) {
		t.Helper()
		libs, err := admin.FunctionList(t.Context(), redis.FunctionListQuery{LibraryNamePattern: lib.ServerName, WithCode: true}).Result()
		if err != nil || len(libs) != 1 || libs[0].Code != lib.Code {
			t.Errorf("the server does not hold %s %s: %v", lib.ServerName, lib.Version, err)
		}
	}

	apply()
	tr := begin(t, to(t, m)) // it begins with an Ensure of version 1.0.0
	tr.awaitAnswers(t, 500)
	holdsCode(&newer)
	if err := admin.FunctionDelete(t.Context(), newer.ServerName).Err(); err != nil {
		t.Fatal(err)
	}
	tr.awaitAnswers(t, 500)
	holdsCode(ratelimit.Library)
	apply()
	holdsCode(&newer)
	tr.awaitAnswers(t, 500)
	r := tr.end(t)
	r.none(t)
	r.nothingDestroyed(t)
	holdsCode(&newer)
}
