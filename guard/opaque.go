package guard

import (
	"encoding/base64"
	"encoding/json"
)

// maxCalls is the most calls that a ticket or a lease describes, more than a decision makes. Other text is rejected.
const maxCalls = 64

// encodeOpaque returns a value as text that programs pass back unread, to a guard of the same namespace.
func (g *Guard) encodeOpaque(v any) string {
	text, err := json.Marshal([]any{g.namespace(), v})
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// decodeOpaque reads the text of encodeOpaque into v. It reports whether text is one; programs may pass any text.
func (g *Guard) decodeOpaque(text string, v any) bool {
	namespace := ""
	decoded, err := base64.RawURLEncoding.DecodeString(text)
	return err == nil && json.Unmarshal(decoded, &[]any{&namespace, v}) == nil && namespace == g.namespace()
}

// namespace is that of every policy of the guard.
func (g *Guard) namespace() string { return g.sender.Client.Fcall().Namespace() }
