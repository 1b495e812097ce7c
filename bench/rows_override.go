package main

import (
	"time"

	"github.com/rlfunc/rlfunc/fcall"
	"github.com/rlfunc/rlfunc/gen/override"
)

func overrideWorkloads() []workload {
	set := func(subject string) command {
		return of(override.New, (*override.Client).Set, func(s fcall.Subject) override.SetParams {
			return override.SetParams{Subject: s, Target: subject, Effect: override.SetEffectAllow, Duration: time.Hour, By: "ann@host", Reason: "ticket 811"}
		})
	}
	list := func(known *int64) command {
		return of(override.New, (*override.Client).List, func(s fcall.Subject) override.ListParams {
			return override.ListParams{Subject: s, Known: known}
		})
	}
	clear := of(override.New, (*override.Client).Clear, func(s fcall.Subject) override.ClearParams {
		return override.ClearParams{Subject: s, Target: "user=1"}
	})
	clearAll := of(override.New, (*override.Client).ClearAll, func(s fcall.Subject) override.ClearAllParams {
		return override.ClearAllParams{Subject: s}
	})
	two := after(set("user=1"), set("user=2"))
	return []workload{
		{name: "override.set first", call: set("user=1"), expect: "{Replaced:false "},
		{name: "override.set third", prepare: two, call: set("user=3"), expect: "{Replaced:false "},
		{name: "override.list unchanged", call: list(new(int64(0))), expect: "{Changed:false "},
		{name: "override.list of two", prepare: two, call: list(nil), expect: "{Changed:true "},
		{name: "override.clear", prepare: two, call: clear, expect: "{Existed:true "},
		{name: "override.clear_all", prepare: two, call: clearAll, expect: "{Existed:true}"},
	}
}
