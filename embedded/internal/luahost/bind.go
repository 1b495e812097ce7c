package luahost

import (
	lua "github.com/yuin/gopher-lua"
)

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
func (l *Library) bind(p *lua.FunctionProto) {
	for _, inner := range p.FunctionPrototypes {
		l.bindOne(inner)
		l.bind(inner)
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
