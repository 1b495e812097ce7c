package luahost

import (
	"errors"
	"fmt"
	"strings"

	lua "github.com/yuin/gopher-lua"
	"github.com/yuin/gopher-lua/parse"
)

// maxUpvalues is Lua 5.1's limit, which gopher-lua does not know.
const maxUpvalues = 60

// compileChunk compiles a chunk of Lua. Nothing in the result belongs to a Lua state.
func compileChunk(source, name string) (*lua.FunctionProto, error) {
	proto, _, err := compileFor(false, source, name)
	return proto, err
}

// compileFor compiles a chunk, for an Observer or not. blocks are those that are marked for it.
func compileFor(observe bool, source, name string) (proto *lua.FunctionProto, blocks []Block, err error) {
	statements, err := parse.Parse(strings.NewReader(source), name)
	if err != nil {
		return nil, nil, syntaxError(err, source, name)
	}
	r := rewriter{observe: observe}
	statements = r.block(statements)
	if r.refused != "" {
		return nil, nil, fmt.Errorf("%s:%d: %s", name, r.refusedLine, r.refused)
	}
	proto, err = lua.Compile(statements, name)
	if err != nil {
		return nil, nil, compileError(err, name)
	}
	return proto, r.blocks, checkUpvalues(proto, name)
}

// chunk makes a function of a compiled chunk, whose globals are the library's environment.
func (l *Library) chunk(proto *lua.FunctionProto) *lua.LFunction {
	f := l.state.NewFunctionFromProto(proto)
	f.Env = l.env.table
	return f
}

// syntaxError gives the parser's error the form of Lua's; the sentence differs.
func syntaxError(err error, source, name string) error {
	var e *parse.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", name, err)
	}
	line, near := e.Pos.Line, "'"+e.Token+"'"
	if line == parse.EOF {
		line, near = 1+strings.Count(source, "\n"), "'<eof>'"
	}
	return fmt.Errorf("%s:%d: %s near %s", name, line, e.Message, near)
}

func compileError(err error, name string) error {
	var e *lua.CompileError
	if !errors.As(err, &e) {
		return fmt.Errorf("%s: %w", name, err)
	}
	return fmt.Errorf("%s:%d: %s", name, e.Line, e.Message)
}

func checkUpvalues(p *lua.FunctionProto, name string) error {
	if p.NumUpvalues > maxUpvalues {
		return fmt.Errorf("%s:%d: function at line %d has more than %d upvalues", name, p.LineDefined, p.LineDefined, maxUpvalues)
	}
	for _, inner := range p.FunctionPrototypes {
		if err := checkUpvalues(inner, name); err != nil {
			return err
		}
	}
	return nil
}
