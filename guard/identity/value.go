package identity

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

const (
	hashMark     = '~' // begins a hash, and never a printable value
	maxValue     = 256 // bytes of a subject's value
	maxReceipt   = 224 // bound of library guard
	maxChallenge = 128 // bound of library challenge
)

// Value returns the text of a raw value in a subject: user=42 is "user=" + Value("42").
//
// A printable value of at most 256 bytes stays the same, except that + and % become %2B and %25: + joins the subjects of a
// combination. Any other value becomes ~ and the first 128 bits of its SHA-256 in hexadecimal digits. That applies to longer
// values, those that begin with ~, invalid UTF-8, and control, format, bidirectional or invisible characters. So two values
// share a subject only if their hashes collide. Letters that look alike stay different.
func Value(raw string) string {
	if raw == "" || isPlain(raw, maxValue) && !strings.ContainsAny(raw, "+%") {
		return raw
	}
	return string(appendValue(nil, raw))
}

// Digest returns the hash of a value that must not be shown, such as a key: ~ and the first 128 bits of its SHA-256.
func Digest(secret string) string { return string(appendHash(nil, secret)) }

// IsValue reports whether Value returns text for some raw value.
func IsValue(text string) bool {
	if text == "" {
		return false
	}
	if text[0] == hashMark {
		return len(text) == 33 && strings.Trim(text[1:], "0123456789abcdef") == ""
	}
	return Value(unescape.Replace(text)) == text
}

var unescape = strings.NewReplacer("%2B", "+", "%25", "%")

// appendValue appends Value(raw).
func appendValue(to []byte, raw string) []byte {
	if !isPlain(raw, maxValue) {
		return appendHash(to, raw)
	}
	start := len(to)
	for i := range len(raw) {
		switch c := raw[i]; c {
		case '+':
			to = append(to, "%2B"...)
		case '%':
			to = append(to, "%25"...)
		default:
			to = append(to, c)
		}
	}
	if len(to)-start > maxValue {
		return appendHash(to[:start], raw)
	}
	return to
}

// shorten returns a printable value of at most some bytes unchanged, and the hash of any other. "" stays "".
func shorten(raw string, most int) string {
	if raw == "" || isPlain(raw, most) {
		return raw
	}
	return string(appendHash(nil, raw))
}

func isPlain(raw string, most int) bool {
	return raw != "" && len(raw) <= most && raw[0] != hashMark && printable(raw)
}

func appendHash(to []byte, raw string) []byte {
	sum := sha256.Sum256([]byte(raw))
	return hex.AppendEncode(append(to, hashMark), sum[:16])
}

// printable reports whether each character of a text is visible and shows as itself. It rejects control, format,
// bidirectional, unassigned, private and invisible characters, spaces other than ASCII's, and an initial combining mark.
func printable(text string) bool {
	for i := range len(text) {
		if c := text[i]; c >= utf8.RuneSelf {
			return printableRunes(text)
		} else if c < ' ' || c == 0x7f {
			return false
		}
	}
	return true
}

func printableRunes(text string) bool {
	if !utf8.ValidString(text) {
		return false
	}
	for i, r := range text {
		if !unicode.IsPrint(r) || i == 0 && unicode.Is(unicode.M, r) || unicode.In(r, invisible...) {
			return false
		}
	}
	return true
}

// invisible holds characters that are printable by category but show nothing.
var invisible = []*unicode.RangeTable{
	unicode.Other_Default_Ignorable_Code_Point, // Hangul fillers, combining grapheme joiner, Khmer inherent vowels
	unicode.Variation_Selector,
	{R16: []unicode.Range16{{Lo: 0x2800, Hi: 0x2800, Stride: 1}}},   // braille pattern blank
	{R32: []unicode.Range32{{Lo: 0x1d159, Hi: 0x1d159, Stride: 1}}}, // musical symbol null notehead
}

// A Fold says which spellings of an account name are one subject. Choose the one that the service behind compares by: with less, one
// account has as many subjects as spellings, each with a limit of its own; with more, one account can use up the limit of another.
//
// The letters of a pair such as A and a are one, by Unicode's simple folding: ſ is s and ς is σ, but ß is not ss, and İ and ı are neither i nor
// I. Compatibility forms such as ﬁ, the dots and +tags of an email address, the two forms of an international domain, and more than 30 marks on
// one letter stay different.
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
