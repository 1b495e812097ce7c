package vet

import (
	"math/big"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/internal/codegen/source"
)

// A site is a place in a file.
type site struct {
	file *file
	at   position
}

// A frame is a running function and its call.
type frame struct {
	fn        *function
	call      ast.Expr // in the frame below; nil in the first
	passed    passed
	extra     []value // of `...`
	loaded    bool    // the function was made while the library was loaded
	unbounded int     // open while and repeat loops, and loops over a key's content
}

// passed is the list of a call's arguments.
type passed struct {
	exprs []ast.Expr
	open  bool // the last may give any number of values
}

// A run follows one public function through every path: its file, the lib files that it uses, and the functions of both
// that it calls. Values are sets of possibilities. A condition that narrows one splits the path. A run ends because loops run at most
// twice and equal paths are joined.
type run struct {
	c         *checker
	lib       *source.Library
	spec      *spec.Function // nil if no public function calls the function
	file      *file
	static    map[*variable]value
	modules   map[string]value
	frames    []*frame
	loading   bool
	unused    ast.Expr // the call that is a statement, whose results are dropped
	preparing string   // the lib file whose prepare runs
	steps     int
	loops     int     // open loops
	nested    float64 // turns of the fors around, as far as their bounds say
	place     int
	places    map[place]int
	objects   map[place]int
	known     map[print][]summary        // by view and place
	elsewhere map[print][]summary        // by view
	reports   int                        // findings, also those that are silenced
	rewritten int                        // writes to the library's variables
	read      map[string]bool            // keys whose content it has read, on any path
	appended  map[string]bool            // keys to whose text it has appended, whatever they held
	counted   map[string]bool            // and of which it knows how much they hold
	listed    map[string]bool            // lists of which it has read elements
	codes     map[string]bool            // first words of the errors that it returns
	returns   map[int]bool               // lines of the public function's returns
	lacking   map[unexpired]map[int]bool // and of those at which a write waits for an expiry
	hidden    bool                       // it returns an error whose code is not visible
	tested    map[ast.Expr]tested
	emptied   map[*variable]bool // those that some path has left without a value
	equated   map[*ast.RelationalOpExpr]equated
	catchers  []*catcher
	narrowing map[*ast.RelationalOpExpr]bool // conditions that bound a variable by a constant
	branching map[*ast.RelationalOpExpr]bool // conditions of which narrow learns on each branch
	marks     marks
	reached   map[any]*big.Int // results of reachOf
	reachedAt int              // rewritten when they were found
}

// A tested expression is a condition with its possible values over all paths.
type tested struct {
	site
	kinds   kind
	lenient bool
}

const (
	stepLimit    = 3_000_000 // of one run; most functions take 10,000 at most, guard.admit 500,000
	stateLimit   = 40        // paths side by side
	outcomeLimit = 24        // of one call
	depthLimit   = 24        // of calls
)

func newRun(c *checker, f *file) *run {
	return &run{
		c: c, file: f, nested: 1, static: map[*variable]value{}, modules: map[string]value{}, read: map[string]bool{}, appended: map[string]bool{}, counted: map[string]bool{}, listed: map[string]bool{}, codes: map[string]bool{}, returns: map[int]bool{}, lacking: map[unexpired]map[int]bool{}, tested: map[ast.Expr]tested{}, emptied: map[*variable]bool{}, equated: map[*ast.RelationalOpExpr]equated{}, narrowing: map[*ast.RelationalOpExpr]bool{}, branching: map[*ast.RelationalOpExpr]bool{},
		places: map[place]int{}, objects: map[place]int{}, known: map[print][]summary{}, elsewhere: map[print][]summary{}, reached: map[any]*big.Int{},
	}
}

// site returns the place of a frame's function.
func (f *frame) site() site { return site{f.fn.file, f.fn.pos} }

func (r *run) top() *frame { return r.frames[len(r.frames)-1] }

// here returns the file of the running function.
func (r *run) here() *file { return r.top().fn.file }

func (r *run) at(node any) site { return site{r.here(), r.here().at(node)} }

// outer returns the site of a node in the public function's file: the node itself, or the call that led to it.
func (r *run) outer(node any) site {
	if len(r.frames) > 1 && !r.loading {
		for i, f := range r.frames[1:] {
			if f.fn.file != r.file {
				return site{r.frames[i].fn.file, r.frames[i].fn.file.at(f.call)}
			}
		}
	}
	return r.at(node)
}

// report adds a finding. A comment at the place itself, or at a call that led there, can silence it. After too many steps a run reports
// nothing, because it no longer follows functions to their end.
func (r *run) report(at site, rule, format string, args ...any) {
	r.reports++
	if r.steps > stepLimit {
		return
	}
	also := make([]site, 0, len(r.frames))
	for i := 1; i < len(r.frames); i++ {
		if call := r.frames[i].call; call != nil {
			caller := r.frames[i-1].fn.file
			also = append(also, site{caller, caller.at(call)})
		}
	}
	r.c.add(at, also, rule, format, args...)
}

// objectAt returns the ID of the table that a node creates here.
func (r *run) objectAt(node any) int {
	at := place{outer: r.place, node: node}
	id, ok := r.objects[at]
	if !ok {
		id = len(r.objects) + 1
		r.objects[at] = id
	}
	return id
}

// newObject returns the table that a node creates.
func (r *run) newObject(s *state, node any, o *object) value {
	id := r.objectAt(node)
	s.own(heap).heap.set(id, o)
	return value{kinds: isTable, objects: []int{id}}
}

// load runs the top of a file, as Redis does when it loads the library, and returns its result.
func (r *run) load(s *state, f *file) value {
	r.loading = true
	defer func() { r.loading = false }()
	r.frames = append(r.frames, &frame{fn: f.chunk})
	defer r.enter(f, 0)()
	defer func() { r.frames = r.frames[:len(r.frames)-1] }()
	out := r.block([]*state{s}, f.src.Chunk)
	result := anything()
	for i, o := range out.returns {
		if len(o.vals) > 0 {
			if i == 0 {
				result = value{}
			}
			result = join(result, o.vals[0])
		}
		*s = *o.s
	}
	if len(out.next) > 0 {
		*s = *out.next[0]
	}
	return result
}

// use loads the lib files that a file uses, dependencies first.
func (r *run) use(s *state, names []string) {
	for _, name := range names {
		lib, ok := r.c.libs[name]
		if !ok || r.modules[name].kinds != 0 {
			if !ok {
				r.modules[name] = anything()
			}
			continue
		}
		r.modules[name] = anything() // ends a cycle
		r.use(s, r.c.tree.Libs[name].Uses)
		module := r.load(s, lib)
		r.modules[name] = module
		own(s, module, name)
	}
}

// public runs a public function with the arguments of its header.
func (r *run) public(fn *function, contract *spec.Function) {
	s := newState()
	r.use(s, contract.Uses)
	r.load(s, r.file)
	s.loaded()
	prepared := map[string]value{}
	for _, p := range contract.Params {
		if p.Kind == spec.KindPacked {
			s, prepared[p.Name] = r.prepare(s, p)
		}
	}
	r.spec = contract
	var args []value
	for _, p := range contract.Params {
		if p.Kind != spec.KindPacked {
			args = append(args, r.argument(s, p, p.Lua))
			continue
		}
		args = append(args, prepared[p.Name])
		for _, k := range p.Keys() {
			key := r.argument(s, k, p.Lua+"."+k.Lua)
			args = append(args, r.newObject(s, p.KeyName(k), &object{elem: &key, size: rowsOf(p)}))
		}
	}
	for i, v := range args {
		if v.name() != "" {
			args[i].in.ends = bothEnds
		}
	}
	s.apart = true
	raised := r.catching(false, func() {
		for _, o := range r.invoke(s, &closure{fn: fn}, args, nil, passed{}) {
			r.endOfCall(o.s, false)
		}
	})
	for _, s := range raised {
		r.endOfCall(s, true)
	}
	if r.steps > stepLimit {
		r.c.add(site{fn.file, fn.pos}, nil, RuleComplexity, "vet gave up on %s after %d steps, so it is checked only in part: split the function, or return early so that fewer conditions follow each other", contract.Name, stepLimit)
		return
	}
	r.codesReturned(fn)
	r.judgeTested()
	r.judgeEquated()
}

// alone runs a function that no other calls, with unknown arguments.
func (r *run) alone(fn *function, uses []string) {
	s := newState()
	r.use(s, uses)
	r.load(s, r.file)
	s.loaded()
	args := make([]value, len(fn.params))
	for i := range args {
		args[i] = anything()
	}
	for outer := fn.parent; outer != nil && outer.parent != nil; outer = outer.parent {
		for _, v := range outer.vars {
			val := anything()
			s.own(env).env.set(v.id, &val)
		}
	}
	r.invoke(s, &closure{fn: fn}, args, nil, passed{open: true})
}

// argument returns the value that the generated entry passes for a parameter.
func (r *run) argument(s *state, p spec.Field, name string) value {
	v := value{}
	switch p.Kind {
	case spec.KindKey:
		if p.Several {
			one := p
			one.Several = false
			elem := r.argument(s, one, name)
			return r.newObject(s, name, &object{elem: &elem, size: rowsOf(p)})
		}
		v = value{kinds: isStr, taint: fromKey, rare: &rare{keys: []string{name}}}
	case spec.KindBool:
		return of(isBool)
	case spec.KindText, spec.KindBytes, spec.KindJSON:
		v = value{kinds: isStr, taint: fromCaller, rare: &rare{param: p.Name}}
	case spec.KindEnum:
		v = value{kinds: isStr, rare: &rare{enum: p.Values}}
	case spec.KindList:
		elem := r.argument(s, p.Fields[0], name+"[]")
		return r.newObject(s, name, &object{elem: &elem, size: rowsOf(p)})
	case spec.KindGroup, spec.KindMap:
		row := &object{}
		for _, f := range p.Fields {
			row.setField(f.Lua, r.argument(s, f, name+"."+f.Lua))
		}
		elem := r.newObject(s, name+"[]", row)
		return r.newObject(s, name, &object{elem: &elem, size: rowsOf(p)})
	case spec.KindFloat:
		least, most := p.Span()
		v = value{kinds: isInt | isFrac, rare: &rare{name: name}, in: between(least, most)}
	default:
		v = value{kinds: isInt, rare: &rare{span: p.Name, name: name}, in: between(float64(p.Min), float64(p.Max)).asTold()}
		switch p.Kind {
		case spec.KindDuration:
			v.unit = spanMicros
		case spec.KindTime:
			v.unit = timeMicros
		}
	}
	if _, given := p.DefaultWord(); p.Optional && !given {
		v.kinds |= isNil
	}
	return v
}

// rowsOf returns how many rows an argument has.
func rowsOf(p spec.Field) tally {
	t := tally{least: int32(p.Min), most: int32(p.Max), step: 1, known: true}
	if p.Min == p.Max {
		t.step = 0
	}
	return t
}

// declaredType returns the Redis type of a key in the header.
func (r *run) declaredType(key string) string {
	if k := r.declared(key); k.Redis != "any" {
		return k.Redis
	}
	return ""
}

// lasts reports whether the header allows a key to stay without an expiry.
func (r *run) lasts(key string) bool { return r.declared(key).Forever }

// declared returns a key of the header; its zero value if there is none.
func (r *run) declared(key string) spec.Field {
	if r.spec == nil {
		return spec.Field{}
	}
	group, field, inGroup := strings.Cut(key, ".")
	for _, p := range r.spec.Params {
		if p.Lua != group {
			continue
		}
		if !inGroup {
			return p
		}
		for _, f := range p.Fields {
			if f.Lua == field {
				return f
			}
		}
	}
	return spec.Field{}
}
