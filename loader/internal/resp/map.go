// Package resp reads replies that are alike in both protocols of Redis.
package resp

// Map reads a map of RESP3, or its flat form in RESP2. Anything else is an empty map.
func Map(reply any) map[string]any {
	m := map[string]any{}
	switch r := reply.(type) {
	case map[any]any:
		for k, v := range r {
			if name, ok := k.(string); ok {
				m[name] = v
			}
		}
	case []any:
		for i := 0; i+1 < len(r); i += 2 {
			if name, ok := r[i].(string); ok {
				m[name] = r[i+1]
			}
		}
	}
	return m
}
