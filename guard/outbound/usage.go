package outbound

import (
	"bytes"
	"encoding/json"
	"math"
	"mime"
	"net/http"
	"strings"

	"github.com/rlfunc/rlfunc/guard"
)

// A scanner finds usage in JSON that it gets in pieces of any length: the objects with a name such as usage or usageMetadata, in an outermost object or
// in one directly within it, such as Anthropic's message and OpenAI's response. What a model wrote is text, or lies deeper.
type scanner struct {
	found func(name, usage []byte)

	objects         int  // that are open
	quoted, escaped bool // within a string, and after a backslash there
	text, name      []byte
	usage, of       []byte // what is kept of a usage, and its name
	level           int    // of objects around it; 0 if none is kept
	final           bool   // some object said that its usage is the last
}

const (
	maxText  = 64       // bytes of a string that are compared
	maxUsage = 64 << 10 // bytes of a usage
)

func (s *scanner) write(c byte) {
	if s.level > 0 && len(s.usage) < maxUsage {
		s.usage = append(s.usage, c)
	}
	switch {
	case s.quoted && s.escaped:
		s.escaped = false
	case s.quoted && c == '\\':
		s.escaped = true
	case s.quoted && c == '"':
		s.quoted = false
		s.final = s.final || s.objects <= 2 && isFinal(string(s.name), string(s.text))
	case s.quoted:
		if len(s.text) < maxText {
			s.text = append(s.text, c)
		}
	case c == '"':
		s.quoted, s.text = true, s.text[:0]
	case c == ':':
		s.name = append(s.name[:0], s.text...)
	case c == ',' || c == '[':
		s.name = s.name[:0]
	case c == '{':
		if s.level == 0 && 1 <= s.objects && s.objects <= 2 && bytes.Contains(bytes.ToLower(s.name), []byte("usage")) {
			s.level, s.usage, s.of = s.objects, append(s.usage[:0], c), append(s.of[:0], s.name...)
		}
		s.objects++
		s.name = s.name[:0]
	case c == '}' && s.objects > 0:
		if s.objects--; s.objects == s.level && s.level > 0 {
			if s.level = 0; len(s.usage) < maxUsage {
				s.found(s.of, s.usage)
			}
		}
	}
}

// isFinal reports whether a field says that the usage of its object, or of the next one, is the last of a stream.
func isFinal(name, value string) bool {
	switch name {
	case "finish_reason", "finishReason", "stop_reason":
		return value != ""
	case "type":
		return value == "message_stop" || value == "response.completed" || value == "response.incomplete" || value == "response.failed"
	}
	return false
}

// maxDocument is the longest JSON object that is kept whole. Of a longer one only its usage is.
const maxDocument = 1 << 20

// A recorder keeps what a body tells about usage, at most three documents: outermost objects, one after another or in an array or in the events of a
// stream.
type recorder struct {
	scanner
	sniffed, stream bool // whether it is a stream of events is known, and what
	line            []byte
	data, returned  bool // within the data of an event; after a carriage return
	document        []byte
	tooLong         bool   // the document is not kept
	wrapped         []byte // its usage, as an object
	first, latest   []byte // documents with a usage
	other           []byte // the last document without
	known           bool   // the last usage is that of the whole response
	list, complete  bool   // documents are in an array; a document ended, and none followed
	unreadable      bool   // because of its encoding
}

func newRecorder(response *http.Response) *recorder {
	r := &recorder{}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	r.stream = kind == "text/event-stream"
	r.found = func(name, usage []byte) {
		r.wrapped = append(append(append(append([]byte(`{"`), name...), `":`...), usage...), '}')
	}
	switch strings.ToLower(response.Header.Get("Content-Encoding")) {
	case "", "identity":
	default: // an API that compresses what nobody asked it to
		r.unreadable = true
	}
	return r
}

func (r *recorder) write(p []byte) {
	if r.unreadable {
		return
	}
	for _, c := range p {
		if !r.sniffed && c > ' ' {
			r.sniffed, r.stream = true, r.stream || c != '{' && c != '['
		}
		switch {
		case !r.stream:
			r.json(c)
		case c == '\n' && r.returned:
			r.returned = false
		case c == '\n' || c == '\r':
			if r.returned = c == '\r'; r.data {
				r.json('\n')
			} else if len(r.line) == 0 { // an event ended
				r.objects, r.level, r.quoted, r.escaped = 0, 0, false, false
			}
			r.line, r.data = r.line[:0], false
		case r.data:
			r.json(c)
		default:
			r.returned = false
			if len(r.line) < len("data:") {
				r.line = append(r.line, c)
				r.data = string(r.line) == "data:"
			}
		}
	}
}

func (r *recorder) json(c byte) {
	had := r.objects
	r.scanner.write(c)
	if had == 0 && r.objects == 0 {
		if c == '[' { // an array, or [DONE] of a stream
			r.list, r.known = true, r.known || r.stream && r.first != nil
		}
		return
	}
	if r.tooLong = had > 0 && (r.tooLong || len(r.document) >= maxDocument); !r.tooLong {
		if had == 0 {
			r.document, r.wrapped = r.document[:0], nil
		}
		r.document = append(r.document, c)
	}
	if r.complete = r.objects == 0; !r.complete {
		return
	}
	whole := r.document
	if r.tooLong {
		whole = r.wrapped
	}
	switch {
	case r.wrapped == nil && !r.tooLong:
		r.other = append(r.other[:0], whole...)
	case r.wrapped == nil:
	case r.first == nil:
		r.first = bytes.Clone(whole)
	default:
		r.latest = append(r.latest[:0], whole...)
	}
	r.known = r.known || r.final && r.first != nil
}

// documents returns what tells the usage, and whether that is the usage of the whole response. read reports whether the body was read to its end.
func (r *recorder) documents(read bool) (all [][]byte, whole bool) {
	for _, one := range [][]byte{r.first, r.latest} {
		if one != nil {
			all = append(all, one)
		}
	}
	if all == nil && r.other != nil {
		all = append(all, r.other)
	}
	return all, read || r.known || r.complete && !r.stream && !r.list
}

// These are the names that APIs have for numbers of tokens.
var (
	inputs = []string{
		"prompt_tokens", "input_tokens", "cache_creation_input_tokens", "promptTokenCount", "toolUsePromptTokenCount", "inputTokens",
	}
	outputs = []string{"completion_tokens", "output_tokens", "candidatesTokenCount", "thoughtsTokenCount", "outputTokens"}
	totals  = []string{"total_tokens", "totalTokenCount", "totalTokens"}
)

// maxTokens is the most that a response can have used.
const maxTokens = 1e15

// Tokens returns a Usage that settles a unit of the policy's budgets as the sum of the input and output tokens that responses of OpenAI, Azure OpenAI,
// Anthropic, Gemini and Bedrock tell; those that Anthropic read from its cache count for no limit there, and not here. OpenAI's streams tell them if the
// request has stream_options: {include_usage: true}.
func Tokens(unit string) func(*http.Response, [][]byte) (guard.Amounts, bool) {
	return func(_ *http.Response, documents [][]byte) (guard.Amounts, bool) {
		var input, output, total float64
		told, wrong := false, false
		sum := func(values map[string]any, names []string) (n float64) {
			for _, name := range names {
				if value := values[name]; value != nil {
					one, ok := value.(float64)
					told, wrong = true, wrong || !ok || one < 0
					n += one
				}
			}
			return n
		}
		s := scanner{found: func(_, usage []byte) {
			var values map[string]any
			_ = json.Unmarshal(usage, &values) // what is no JSON tells nothing
			input, output = max(input, sum(values, inputs)), max(output, sum(values, outputs))
			total = max(total, sum(values, totals))
		}}
		for _, document := range documents {
			for _, c := range document {
				s.write(c)
			}
		}
		n := math.Ceil(max(input+output, total))
		if !told || wrong || n > maxTokens {
			return guard.Amounts{}, false
		}
		return guard.Amounts{Units: []guard.Amount{{Unit: unit, N: int64(n)}}}, true
	}
}
