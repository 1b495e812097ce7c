package httpguard

import (
	"bytes"
	"encoding/json"
	"mime"
	"net/http"

	"github.com/rlfunc/rlfunc/guard"
)

// maxDocument is the longest JSON document, or line of an event stream, that is kept: a longer one tells nothing.
const maxDocument = 1 << 20

// A recorder keeps what a body tells about usage, at most three documents.
type recorder struct {
	stream      bool
	whole       bool   // a stream has ended, whatever follows
	text        []byte // the body, or the current line of a stream
	tooLong     bool   // the text is not kept
	first, last []byte // events with a usage
}

func newRecorder(response *http.Response) *recorder {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return &recorder{stream: kind == "text/event-stream"}
}

func (r *recorder) write(p []byte) {
	for r.stream {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if !ended {
			break
		}
		r.keep(line)
		r.event()
		r.text, r.tooLong, p = r.text[:0], false, rest
	}
	r.keep(p)
}

func (r *recorder) keep(p []byte) {
	if r.tooLong = r.tooLong || len(r.text)+len(p) > maxDocument; r.tooLong {
		r.text = r.text[:0]
		return
	}
	r.text = append(r.text, p...)
}

// event reads a line of a stream.
func (r *recorder) event() {
	data, ok := bytes.CutPrefix(r.text, []byte("data:"))
	if data = bytes.TrimSpace(data); !ok {
		return
	}
	for _, end := range []string{"[DONE]", `{"type":"message_stop"`, `{"type": "message_stop"`} {
		r.whole = r.whole || bytes.HasPrefix(data, []byte(end))
	}
	switch _, value, has := bytes.Cut(data, []byte(`"usage":`)); {
	case !has || bytes.HasPrefix(bytes.TrimSpace(value), []byte("null")):
	case r.first == nil:
		r.first = bytes.Clone(data)
	default:
		r.last = append(r.last[:0], data...)
	}
}

// documents returns what tells the usage of a body that was read to its end, or of a stream that said that it has ended.
func (r *recorder) documents(read bool) (all [][]byte) {
	switch {
	case !r.stream && len(r.text) > 0:
		return [][]byte{r.text} // of a body that was not read to its end it may be all, too: a JSON decoder stops there
	case !read && !r.whole:
		return nil
	}
	for _, one := range [][]byte{r.first, r.last} {
		if len(one) > 0 {
			all = append(all, one)
		}
	}
	return all
}

// Tokens returns a Usage that settles a unit of the policy's budgets as the sum of the input and output tokens that OpenAI's and Anthropic's responses
// tell; those that Anthropic read from its cache count for no limit there, and not here. OpenAI's streams tell them if the request has stream_options:
// {include_usage: true}.
func Tokens(unit string) func(*http.Response, [][]byte) (guard.Amounts, bool) {
	type usage struct {
		Prompt     int64 `json:"prompt_tokens"`
		Completion int64 `json:"completion_tokens"`
		Input      int64 `json:"input_tokens"`
		Cached     int64 `json:"cache_creation_input_tokens"`
		Output     int64 `json:"output_tokens"`
	}
	type within struct{ Usage *usage }
	return func(_ *http.Response, documents [][]byte) (guard.Amounts, bool) {
		var input, output int64
		for _, document := range documents {
			var d struct {
				within
				Message, Response within // Anthropic's message_start, and events of OpenAI's Responses
			}
			if json.Unmarshal(document, &d) != nil {
				return guard.Amounts{}, false
			}
			for _, u := range []*usage{d.Usage, d.Message.Usage, d.Response.Usage} {
				if u != nil {
					input, output = max(input, u.Prompt, u.Input+u.Cached), max(output, u.Completion, u.Output)
				}
			}
		}
		return guard.Amounts{Units: []guard.Amount{{Unit: unit, N: input + output}}}, input+output > 0
	}
}
