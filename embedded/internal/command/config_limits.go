package command

import (
	"math"

	"github.com/rlfunc/rlfunc/embedded/internal/store"
)

// limitSettings are those that change what OBJECT ENCODING reports, and those of lists, which have one form here whatever they say.
var limitSettings = map[string]setting{
	"hash-max-listpack-entries": {"512", wholeNumber(0, math.MaxInt64), encodingLimit(func(l *store.Limits) *int64 { return &l.HashEntries })},
	"hash-max-listpack-value":   {"64", memorySize(0), encodingLimit(func(l *store.Limits) *int64 { return &l.HashValue })},
	"set-max-intset-entries":    {"512", wholeNumber(0, math.MaxInt64), encodingLimit(func(l *store.Limits) *int64 { return &l.SetInts })},
	"zset-max-listpack-entries": {"128", wholeNumber(0, math.MaxInt64), encodingLimit(func(l *store.Limits) *int64 { return &l.ZSetEntries })},
	"zset-max-listpack-value":   {"64", memorySize(0), encodingLimit(func(l *store.Limits) *int64 { return &l.ZSetValue })},

	"list-max-listpack-size": {"-2", wholeNumber(math.MinInt32, math.MaxInt32), nil},
	"list-compress-depth":    {"0", wholeNumber(0, math.MaxInt32), nil},
}

func encodingLimit(of func(*store.Limits) *int64) func(*State, string) {
	return func(s *State, value string) { *of(&s.encodings) = mustInt(value) }
}

func init() {
	for name, def := range limitSettings {
		settings[name] = def
	}
}
