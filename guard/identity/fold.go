package identity

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A Fold says which spellings of an account name are one subject. Choose the one that the service behind compares by: with less, one
// account has as many subjects as spellings, each with a limit of its own; with more, one account can use up the limit of another.
//
// The letters of a pair such as A and a are one, by Unicode's simple folding: ſ is s and ς is σ, but ß is not ss, and İ and ı are neither i nor
// I. Compatibility forms such as ﬁ, the dots and +tags of an email address, and the two forms of an international domain stay different.
// A value that is not UTF-8 or longer than 1024 bytes stays as it is.
type Fold string

// The folds. Each also does what those before it do.
const (
	FoldNone  Fold = ""      // no two values are one subject
	FoldNFC   Fold = "nfc"   // one or two characters for é are one, by Unicode's normalization form C
	FoldEmail Fold = "email" // upper and lower case of what follows the last @ are one; those before it may be two mailboxes (RFC 5321, 2.4)
	FoldCase  Fold = "case"  // upper and lower case are one
)

const maxFolded = 1024 // bytes

// Value returns the text of a raw value in a subject, as the package's Value does, folded.
func (f Fold) Value(raw string) string { return Value(f.fold(raw)) }

// Canonical returns the text of a value in a subject, folded. It takes a raw value or, if it is one, the text of a value in a subject.
func (f Fold) Canonical(text string) string {
	switch {
	case !IsValue(text):
		return f.Value(text)
	case text[0] == hashMark:
		return text
	}
	return f.Value(unescape.Replace(text))
}

func (f Fold) fold(raw string) string {
	if f == FoldNone || len(raw) > maxFolded || !utf8.ValidString(raw) {
		return raw
	}
	text := norm.NFC.String(raw)
	switch at := strings.LastIndexByte(text, '@'); {
	case f == FoldCase:
		text = strings.Map(lower, text)
	case f == FoldEmail && at >= 0:
		text = text[:at] + strings.Map(lower, text[at:])
	}
	return norm.NFC.String(text) // J̌ has two characters, and ǰ one
}

// lower returns the letter that stands for all cases of a letter. unicode.ToLower alone takes İ for i.
func lower(r rune) rune {
	if r < utf8.RuneSelf {
		if 'A' <= r && r <= 'Z' {
			r += 'a' - 'A'
		}
		return r
	}
	small := unicode.ToLower(unicode.ToUpper(r))
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		if other == small {
			return small
		}
	}
	return r
}
