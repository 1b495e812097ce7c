package luatest

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen/contract"
)

// meant is what an outcome means, where servers promise no more: JSON may have its fields in another order, and so may a list that was made
// of a set or a hash; a server chooses the IDs of a stream; its own errors have texts of its own.
func (o outcome) meant(by contract.Step) outcome {
	texts := func(change func(string) string) {
		o.Reply = eachText(o.Reply, change)
		for name, k := range o.Keys {
			k.Value = slices.Clone(k.Value)
			for i := range k.Value {
				k.Value[i] = change(k.Value[i])
			}
			o.Keys[name] = k
		}
	}
	texts(sortedJSON)
	if by.IDs {
		var ids []string
		texts(func(text string) string {
			ids = append(ids, streamID.FindAllString(text, -1)...)
			return text
		})
		slices.SortFunc(ids, func(a, b string) int {
			return slices.CompareFunc(strings.Split(a, "-"), strings.Split(b, "-"), byNumber)
		})
		ids = slices.Compact(ids)
		texts(func(text string) string {
			return streamID.ReplaceAllStringFunc(text, func(id string) string { return fmt.Sprintf("ID %d", slices.Index(ids, id)) })
		})
	}
	for _, k := range o.Keys {
		if k.Type != "list" && k.Type != "stream" || by.Unordered && k.Type == "list" {
			slices.Sort(k.Value)
		}
	}
	if by.Unordered {
		o.Reply = sortedRows(o.Reply)
	}
	if strings.HasPrefix(o.Error, "ERR ") {
		o.Error = "ERR"
	}
	return o
}

var streamID = regexp.MustCompile(`\b\d{13}-\d+\b`)

func byNumber(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

func eachText(reply any, change func(string) string) any {
	switch reply := reply.(type) {
	case string:
		return change(reply)
	case []any:
		out := make([]any, len(reply))
		for i, e := range reply {
			out[i] = eachText(e, change)
		}
		return out
	}
	return reply
}

// sortedJSON has the fields of each JSON object or array in a text in the order of their names.
func sortedJSON(text string) string {
	var out strings.Builder
	for {
		at := strings.IndexAny(text, "{[")
		if at < 0 {
			break
		}
		out.WriteString(text[:at])
		text = text[at:]
		in := json.NewDecoder(strings.NewReader(text))
		in.UseNumber()
		var v any
		if in.Decode(&v) == nil {
			if sorted, err := json.Marshal(v); err == nil {
				out.Write(sorted)
				text = text[in.InputOffset():]
				continue
			}
		}
		out.WriteByte(text[0])
		text = text[1:]
	}
	out.WriteString(text)
	return out.String()
}

// sortedRows sorts the rows of each group in a reply. The results themselves have an order.
func sortedRows(reply any) any {
	results, _ := reply.([]any)
	for _, r := range results {
		if rows, ok := r.([]any); ok {
			slices.SortStableFunc(rows, func(a, b any) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
		}
	}
	return reply
}
