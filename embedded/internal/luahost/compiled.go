package luahost

import (
	"slices"
	"sync"

	lua "github.com/yuin/gopher-lua"
)

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
		return compileFor(observe, source, chunkName)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := slices.IndexFunc(c.kept, func(k compiledSource) bool { return k.source == source && k.observe == observe })
	if at < 0 {
		proto, blocks, err := compileFor(observe, source, chunkName)
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
