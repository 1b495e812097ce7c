package fcall

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/rlfunc/rlfunc/internal/marks"
)

// A Mode selects how a Client runs its functions. Both ways use the same keys and may be mixed.
type Mode int

// The modes.
const (
	// ModeAuto calls functions, or runs scripts on a node that has no FCALL, or that lacks the library and refuses FUNCTION. Every
	// 10 s one call tries FCALL again.
	ModeAuto Mode = iota
	// ModeFunctions calls functions only. A server without them is ErrUnsupported.
	ModeFunctions
	// ModeScripts runs the same Lua as scripts, one for each function, with EVALSHA: for Redis before 7.0, KeyDB, Dragonfly and
	// others. Nothing is deployed; each client runs its own version.
	ModeScripts
)

// missingFor is how long a client assumes that a node lacks a command; then one call tries again. A proxy may answer for a dead
// server, and a server may be upgraded.
const missingFor = 10 * time.Second

// A nodeState is what a client knows about one node, by address. If nodes cannot be distinguished there is only one.
type nodeState struct {
	noFunctions missingCommand
	noReadOnly  missingCommand // no EVALSHA_RO
	known       sync.Map       // digests of scripts that the node has run
}

// A missingCommand records that a node lacks a command. The zero value means that it does not.
type missingCommand struct{ until atomic.Int64 }

// active reports whether callers should avoid the command. After missingFor it reports false once, for the call that tries
// again.
func (a *missingCommand) active(now time.Time) bool {
	until := a.until.Load()
	if until == 0 {
		return false
	}
	return now.UnixNano() < until || !a.until.CompareAndSwap(until, now.Add(missingFor).UnixNano())
}

func (a *missingCommand) record(now time.Time) { a.until.Store(now.Add(missingFor).UnixNano()) }

func (a *missingCommand) clear() {
	if a.until.Load() != 0 {
		a.until.Store(0)
	}
}

// A form is how one call is sent, as its earlier attempts have decided.
type form struct {
	scripted, whole, noReadOnly bool
	node                        *nodeState // nil until a node lacked functions
}

// setScript writes EVALSHA and the script's digest, or EVAL and its text, if the call is to run as a script.
func (c *Client) setScript(ctx context.Context, fn *Function, args []any, f *form) {
	if f.node == nil {
		f.node = c.stateOf(addrOf(ctx, c.caller, args))
	}
	now := c.now()
	f.scripted = f.scripted || c.mode == ModeScripts || f.node.noFunctions.active(now)
	if !f.scripted {
		return
	}
	s := c.scripts.of(fn)
	args[0], args[1] = "EVALSHA", s.digest
	if f.whole {
		args[0], args[1] = "EVAL", s.text
	}
	if f.noReadOnly = f.noReadOnly || fn.ReadOnly && f.node.noReadOnly.active(now); fn.ReadOnly && !f.noReadOnly {
		args[0] = args[0].(string) + "_RO"
	}
}

func (c *Client) stateOf(address string) *nodeState {
	if n, ok := c.nodes.Load(address); ok {
		return n.(*nodeState)
	}
	n, _ := c.nodes.LoadOrStore(address, new(nodeState))
	return n.(*nodeState)
}

// switchForm reports whether a call that failed, without having run, is worth sending in another form: as a script if the node
// lacks functions, without _RO before Redis 7.0, and with its text if the node does not know the script.
func (c *Client) switchForm(ctx context.Context, fn *Function, cmd *command, err error, f *form) bool {
	var u *UnavailableError
	if !errors.As(err, &u) {
		return false
	}
	at := f.node
	if address := cmd.redirected(); address != "" || at == nil {
		if address == "" {
			address = addrOf(ctx, c.caller, cmd.Cmd.Args())
		}
		at = c.stateOf(address)
	}
	switch verb, _ := cmd.Cmd.Args()[0].(string); {
	case u.kind == ErrUnsupported && (verb == "FCALL" || verb == "FCALL_RO"):
		if c.mode != ModeAuto {
			return false
		}
		at.noFunctions.record(c.now())
		c.lacksFunctions.Store(true)
		f.node, f.scripted = at, true
		return true
	case u.kind == ErrUnsupported && (verb == "EVALSHA_RO" || verb == "EVAL_RO"):
		at.noReadOnly.record(c.now())
		f.node, f.noReadOnly = at, true
		return true
	case u.Code == "NOSCRIPT" && strings.HasPrefix(verb, "EVALSHA"):
		at.known.Delete(c.scripts.of(fn).digest)
		again := !f.whole
		f.node, f.whole = at, true
		return again
	}
	return false
}

// recordForm notes that a node has the commands that it ran, and keeps the script.
func (c *Client) recordForm(fn *Function, f *form) {
	if !f.scripted {
		f.node.noFunctions.clear()
		return
	}
	f.node.known.Store(c.scripts.of(fn).digest, true)
	if fn.ReadOnly && !f.noReadOnly {
		f.node.noReadOnly.clear()
	}
}

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
		mark, ok := marks.ReadBlock(strings.TrimSuffix(lines[i], "\n"))
		if !ok {
			continue
		}
		b := &block{name: mark.Local, first: i, last: i + 1 + mark.Lines}
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
