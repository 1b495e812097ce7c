package clients_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/internal/golden"
	"github.com/rlfunc/rlfunc/fcall"
)

// subjects are of every kind: plain ones, those that are hashed, and bytes that no string of another language has as they are.
var subjects = []string{
	"u", "user42", "a@b.c", "+/=-_.", "0", "a b", "{x}", "}", "{", "a:b", ":", "a\r\nb", "\n", "a\n", "\r", "\x00", "a\x00", "~", "~0123", "%", "*", "\\", "\"", "'",
	strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 65), strings.Repeat("x", 64) + "\n", strings.Repeat("\xff", 300), strings.Repeat("é", 32),
	"\x7f", "\x80", "\xff\xfe", "\xc3", "\xc0\xaf", "\xe2\x82", "\xe2\x82A", "\xed\xa0\x80", "\xed\xb0\x80", "\xed\xa0\xbd\xed\xb2\xa9", "\xf0\x9f\x92\xa9", "\xf0\x9f\x92",
	"\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "é", "e\u0301", "ß", "İ", "\ufeff", "\ufeffx", "\ufffd", "\u2028", "\x85", "203.0.113.7", "2001:db8::1", "user\u200b",
}

// noBytes are strings of UTF-16 that stand for no bytes: a surrogate that is alone, and not one of U+DC80 to U+DCFF.
var noBytes = [][]uint16{{0xd800}, {0xdbff}, {'a', 0xd800, 'b'}, {0xdc00}, {0xdc7f}, {0xdd00}, {0xdfff}, {0xd83d, 'x'}}

var namespaces = []string{"ns", "a", "A.b-c_9", strings.Repeat("n", 64), "", strings.Repeat("n", 65), "a:b", "{a}", "a b", "ns\n", "ns\x00", "é", "a@b", "~"}

// TestKeys_areInTheTable keeps the table of keys, against which the clients of all languages are tested, what fcall makes.
func TestKeys_areInTheTable(t *testing.T) {
	var b bytes.Buffer
	b.WriteString("{\n  \"keys\": [\n")
	for i, s := range subjects {
		tag := fcall.Tag(fcall.Subject(s))
		fmt.Fprintf(&b, "    {\"bytes\": %q, \"text\": %s, \"tag\": %q, \"key\": %q, \"key_of\": %q}%s\n", hex.EncodeToString([]byte(s)), literal(units(s)), tag,
			fcall.Key("ns", fcall.Subject(s), "log"), fcall.KeyOf("ns", tag, "log", s), comma(i, len(subjects)))
	}
	b.WriteString("  ],\n  \"no_bytes\": [\n")
	for i, s := range noBytes {
		fmt.Fprintf(&b, "    %s%s\n", literal(s), comma(i, len(noBytes)))
	}
	b.WriteString("  ],\n  \"namespaces\": [\n")
	for i, s := range namespaces {
		fmt.Fprintf(&b, "    {\"text\": %s, \"legal\": %s}%s\n", literal(units(s)), strconv.FormatBool(fcall.CheckNamespace(s) == nil), comma(i, len(namespaces)))
	}
	b.WriteString("  ]\n}\n")
	keep(t, "testdata/keys.json", b.String())
}

// keep compares a table that the clients of all languages are tested against with what Go makes.
func keep(t *testing.T, file, text string) {
	t.Helper()
	if *golden.Update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(text, string(have)); d != "" {
		t.Errorf("%s differs from what Go makes; write it with -update (-want +got):\n%s", file, d)
	}
}

func comma(i, n int) string {
	if i == n-1 {
		return ""
	}
	return ","
}

// units returns the UTF-16 of some bytes. One that is not UTF-8 is a lone surrogate from U+DC80 to U+DCFF, as in the clients.
func units(s string) []uint16 {
	var out []uint16
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			out = append(out, 0xdc00+uint16(s[i]))
		} else {
			out = utf16.AppendRune(out, r)
		}
		i += n
	}
	return out
}

// literal returns a string of JSON, in ASCII.
func literal(units []uint16) string {
	var b strings.Builder
	for _, u := range units {
		if u < ' ' || u > '~' || u == '"' || u == '\\' {
			fmt.Fprintf(&b, `\u%04x`, u)
		} else {
			b.WriteByte(byte(u))
		}
	}
	return `"` + b.String() + `"`
}
