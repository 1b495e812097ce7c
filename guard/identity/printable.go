package identity

import (
	"unicode"
	"unicode/utf8"
)

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
