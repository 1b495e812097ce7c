package fcall

import "encoding/json"

// JSON adds a value as encoding/json writes it, minimum to maximum bytes. A json.RawMessage must be JSON, and is sent unchanged.
func (a *Args) JSON(name string, v any, minimum, maximum int64) {
	raw, encoded := v.(json.RawMessage)
	if !encoded {
		var err error
		if raw, err = json.Marshal(v); err != nil {
			a.reject(name, "be a value that encoding/json writes", quote(err.Error()))
			return
		}
	} else if !json.Valid(raw) {
		a.reject(name, "be JSON", describe(string(raw)))
		return
	}
	a.Text(name, string(raw), minimum, maximum)
}

// OptJSON adds JSON; an empty message means omitted.
func (a *Args) OptJSON(name string, raw json.RawMessage, minimum, maximum int64) {
	if len(raw) == 0 {
		a.omit()
		return
	}
	a.JSON(name, raw, minimum, maximum)
}

// JSON reads JSON into v, a pointer, as encoding/json does. A json.RawMessage has the text unchanged.
func (r *Reply) JSON(field string, v any) {
	text := r.Text(field)
	if r.err != nil {
		return
	}
	if raw, ok := v.(*json.RawMessage); ok && json.Valid([]byte(text)) {
		*raw = json.RawMessage(text)
		return
	}
	if err := json.Unmarshal([]byte(text), v); err != nil {
		r.fail(field, "be JSON of its type", describe(text)+": "+quote(err.Error()))
	}
}
