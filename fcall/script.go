package fcall

import (
	"crypto/sha1"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
)

// scripts are a client's functions as scripts, each generated on its first call.
type scripts struct{ made sync.Map }

type script struct {
	text   string
	digest string // SHA-1 of text, as EVALSHA takes it
}

func (s *scripts) of(fn *Function) *script {
	if found, ok := s.made.Load(fn.ServerName); ok {
		return found.(*script)
	}
	text := scriptOf(fn)
	sum := sha1.Sum([]byte(text))
	found, _ := s.made.LoadOrStore(fn.ServerName, &script{text: text, digest: hex.EncodeToString(sum[:])})
	return found.(*script)
}

// scriptHead replaces the first line of a bundle: it defines a function that takes the registrations and keeps one.
const scriptHead = "local rlfunc_run local function rlfunc_register(f, callback) " +
	"if type(f) == 'table' then f, callback = f.function_name, f.callback end if f == '%' then rlfunc_run = callback end end\n"

const scriptTail = "return rlfunc_run(KEYS, ARGV)\n"

// scriptOf returns the bundle as a script that runs one function. It keeps line numbers, so that positions in errors match the
// bundle. Each call runs the whole script, so lines that the function does not need are empty.
func scriptOf(fn *Function) string {
	lines := strings.SplitAfter(fn.Library.Code, "\n")
	dropUnused(lines, fn)
	lines[0] = strings.Replace(scriptHead, "%", fn.ServerName, 1)
	text := strings.ReplaceAll(strings.Join(lines, ""), "redis.register_function", "rlfunc_register")
	return strings.TrimRight(text, "\n") + "\n" + scriptTail
}

// blockStart is the line that begins one of the author's files in a bundle. Generated code that only some functions need is in
// shared blocks.
var blockStart = regexp.MustCompile(`^(?:do|local (\w+) = \(function\(\)) -- rlfunc: (?:lines=(\d+) file=|shared lines=(\d+)$)`)

// A block is the part of a bundle from one of the author's files, lines first to last.
type block struct {
	name        string // of a lib file's local; "" for a function
	first, last int
	wanted      bool
}

// generated are the names of blocks of generated code.
var generated = regexp.MustCompile(`rlfunc_\w+`)

// packed is the lib file that packs an argument.
var packed = regexp.MustCompile(`packed\((\w+)\)`)

// addNeeds adds the names of the blocks that these lines of a block call. The author's files declare theirs in a header; generated
// code calls its own.
func addNeeds(names map[string]bool, lines []string) {
	inUse := false
	for _, line := range lines {
		for _, name := range generated.FindAllString(line, -1) {
			names[name] = true
		}
		inUse = strings.HasPrefix(line, "--- @use") || inUse && strings.HasPrefix(line, "---    ")
		if inUse {
			for name := range strings.FieldsFuncSeq(line, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
				names[name] = true
			}
		}
		if strings.HasPrefix(line, "--- @arg") {
			for _, m := range packed.FindAllStringSubmatch(line, -1) {
				names[m[1]] = true
			}
		}
	}
}

// dropUnused empties the blocks that fn does not need. It does not change a bundle that rlfunc did not generate.
func dropUnused(lines []string, fn *Function) {
	var blocks []*block
	for i := 0; i < len(lines); i++ {
		m := blockStart.FindStringSubmatch(strings.TrimSuffix(lines[i], "\n"))
		if m == nil {
			continue
		}
		count, _ := strconv.Atoi(m[2] + m[3])
		b := &block{name: m[1], first: i, last: i + 1 + count}
		closing := "end)()\n"
		if b.name == "" {
			closing = "end\n"
			for b.last < len(lines) && !strings.HasPrefix(lines[b.last], registerMark) {
				b.last++
			}
			b.wanted = b.last < len(lines) && strings.HasPrefix(lines[b.last], registerMark+fn.ServerName+"'")
			b.last++
		}
		if b.last >= len(lines) || lines[b.last] != closing {
			return
		}
		i = b.last
		blocks = append(blocks, b)
	}
	// A lib file uses only lib files above it.
	used := map[string]bool{}
	for i := len(blocks) - 1; i >= 0; i-- {
		b := blocks[i]
		if b.name != "" {
			b.wanted = used[b.name]
		}
		if b.wanted {
			addNeeds(used, lines[b.first:b.last+1])
			continue
		}
		for j := b.first; j <= b.last; j++ {
			lines[j] = "\n"
		}
	}
}
