package spec

import "slices"

// HasPrefix begins the Lua name of the bool that precedes an optional result.
const HasPrefix = "rlfunc_has_"

// Sent returns results as they travel: a bool precedes each optional one, in rows too, and is false where there is none.
func Sent(results []Field) []Field {
	out := make([]Field, 0, len(results))
	for _, f := range results {
		if f.Optional {
			out = append(out, Field{Name: f.Name, Lua: HasPrefix + f.Lua, Kind: KindBool})
		}
		if f.Kind.Repeated() {
			f.Fields = Sent(f.Fields)
		}
		out = append(out, f)
	}
	return slices.Clip(out)
}
