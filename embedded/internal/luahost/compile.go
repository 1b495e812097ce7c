package luahost

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// maxUpvalues is Lua 5.1's limit, which gopher-lua does not know.
const maxUpvalues = 60

// compile compiles the source of a library, for an Observer or not. blocks are those that are marked for it. Nothing in the result belongs
// to a Lua state.
func compile(source string, observe bool) (proto *lua.FunctionProto, blocks []Block, err error) {
	at := func(line int, text string) error { return fmt.Errorf("%s:%d: %s", chunkName, line, text) }
	statements, err := parse.Parse(strings.NewReader(source), chunkName)
	if wrong := (*parse.Error)(nil); errors.As(err, &wrong) { // in the form of Lua's; the sentence differs
		if wrong.Pos.Line == parse.EOF {
			return nil, nil, at(1+strings.Count(source, "\n"), wrong.Message+" near '<eof>'")
		}
		return nil, nil, at(wrong.Pos.Line, wrong.Message+" near '"+wrong.Token+"'")
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", chunkName, err)
	}
	r := rewriter{observe: observe}
	statements = r.block(statements)
	if r.refused != "" {
		return nil, nil, at(r.refusedLine, r.refused)
	}
	proto, err = lua.Compile(statements, chunkName)
	if wrong := (*lua.CompileError)(nil); errors.As(err, &wrong) {
		return nil, nil, at(wrong.Line, wrong.Message)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s: %w", chunkName, err)
	}
	return proto, r.blocks, checkUpvalues(proto)
}

func checkUpvalues(p *lua.FunctionProto) error {
	if p.NumUpvalues > maxUpvalues {
		return fmt.Errorf("%s:%d: function at line %d has more than %d upvalues", chunkName, p.LineDefined, p.LineDefined, maxUpvalues)
	}
	for _, inner := range p.FunctionPrototypes {
		if err := checkUpvalues(inner); err != nil {
			return err
		}
	}
	return nil
}

// compiled keeps what the last libraries of the process became: many servers load the same ones, each in tests and for each fallback,
// and a library of 300 KB takes 0.1 s to compile.
var compiled compiledSources

const (
	maxCompiled     = 16
	maxCompiledSize = 512 << 10 // of one source, in bytes
)

// compiledSources holds compiled sources, the last used one first.
type compiledSources struct {
	mu   sync.Mutex
	kept []compiledSource
}

type compiledSource struct {
	source  string
	observe bool
	proto   *lua.FunctionProto
	blocks  []Block
}

// get returns the code of a library, which the caller may change. Equal sources that come at once are compiled once.
func (c *compiledSources) get(source string, observe bool) (proto *lua.FunctionProto, blocks []Block, err error) {
	if len(source) > maxCompiledSize {
		return compile(source, observe)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.kept, func(k compiledSource) bool { return k.source == source && k.observe == observe })
	if at < 0 {
		proto, blocks, err := compile(source, observe)
		if err != nil {
			return nil, nil, err
		}
		if at = len(c.kept); at == maxCompiled {
			at--
			c.kept = c.kept[:at]
		}
		trim(proto)
		c.kept = append(c.kept, compiledSource{source, observe, proto, blocks})
	}
	found := c.kept[at]
	copy(c.kept[1:at+1], c.kept[:at])
	c.kept[0] = found
	return ownCode(found.proto), found.blocks, nil
}

// trim frees the room for more code that the compiler left: two thirds of a library's memory.
func trim(p *lua.FunctionProto) {
	p.Code = slices.Clone(p.Code)
	p.Constants = slices.Clone(p.Constants)
	p.DbgSourcePositions = slices.Clone(p.DbgSourcePositions)
	p.DbgLocals = slices.Clone(p.DbgLocals)
	p.DbgCalls = slices.Clone(p.DbgCalls)
	p.DbgUpvalues = slices.Clone(p.DbgUpvalues)
	for _, inner := range p.FunctionPrototypes {
		trim(inner)
	}
}

// ownCode copies what bind changes. The rest is never written, and shared.
func ownCode(p *lua.FunctionProto) *lua.FunctionProto {
	own := *p
	own.Code = slices.Clone(p.Code)
	own.Constants = slices.Clip(p.Constants) // appending copies them
	own.FunctionPrototypes = make([]*lua.FunctionProto, len(p.FunctionPrototypes))
	for i, inner := range p.FunctionPrototypes {
		own.FunctionPrototypes[i] = ownCode(inner)
	}
	return &own
}

// Parts of an instruction of gopher-lua (its opcode.go): six bits of operation,
// then A, C and B, or A and Bx.
const (
	opShift  = 26
	aShift   = 18
	cShift   = 9
	aMask    = 0xff
	bcMask   = 0x1ff
	bxMask   = 0x3ffff
	sbxZero  = 0x1ffff
	constant = 1 << 8 // of B and C: an index of Constants
)

// bind replaces global names by what they mean, in the code of a library's inner
// functions, once its top level has run: the environment can no longer change.
// redis.call then costs two loads of a constant and not five look-ups in maps.
// The top level keeps its own environment: there, "redis" is another table.
func (l *Library) bind(functions []*lua.FunctionProto) {
	for _, p := range functions {
		l.bindOne(p)
		l.bind(p.FunctionPrototypes)
	}
}

func (l *Library) bindOne(p *lua.FunctionProto) {
	landings := targets(p.Code)
	data := false // the word is an operand of the one before
	for i, inst := range p.Code {
		if data {
			data = false
			continue
		}
		op := int(inst >> opShift)
		data = op == lua.OP_SETLIST && inst>>cShift&bcMask == 0
		if op != lua.OP_GETGLOBAL {
			continue
		}
		name, ok := p.Constants[inst&bxMask].(lua.LString)
		if !ok {
			continue
		}
		v := l.env.table.RawGetString(string(name)) // an operator
		if v == lua.LNil {
			v = l.env.globals.RawGetString(string(name))
		}
		if v == lua.LNil || !loadConstant(p, i, v) {
			continue
		}
		if i+1 < len(p.Code) && !landings[i+1] {
			l.bindMember(p, i+1, inst>>aShift&aMask, v)
		}
	}
}

// bindMember replaces module.name at i, where the module is in a register.
func (l *Library) bindMember(p *lua.FunctionProto, i int, register uint32, module lua.LValue) {
	inst := p.Code[i]
	stand, ok := module.(*lua.LTable)
	key := inst >> cShift & bcMask
	if !ok || int(inst>>opShift) != lua.OP_GETTABLEKS || inst&bcMask != register || key&constant == 0 {
		return
	}
	name, ok := p.Constants[key&^constant].(lua.LString)
	if !ok {
		return
	}
	if v := l.env.behind(stand).RawGetString(string(name)); v != lua.LNil {
		loadConstant(p, i, v)
	}
}

// loadConstant makes instruction i load v as a constant into its register A.
func loadConstant(p *lua.FunctionProto, i int, v lua.LValue) bool {
	index := len(p.Constants)
	if index > bxMask {
		return false
	}
	p.Constants = append(p.Constants, v)
	p.Code[i] = uint32(lua.OP_LOADK)<<opShift | p.Code[i]&(aMask<<aShift) | uint32(index)
	return true
}

// targets are the instructions that may follow another one than the one before.
func targets(code []uint32) map[int]bool {
	t := map[int]bool{}
	for i, inst := range code {
		switch int(inst >> opShift) {
		case lua.OP_JMP, lua.OP_FORLOOP, lua.OP_FORPREP:
			t[i+1+int(inst&bxMask)-sbxZero] = true
		case lua.OP_EQ, lua.OP_LT, lua.OP_LE, lua.OP_TEST, lua.OP_TESTSET, lua.OP_TFORLOOP, lua.OP_LOADBOOL:
			t[i+2] = true
		}
	}
	return t
}
