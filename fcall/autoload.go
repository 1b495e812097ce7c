package fcall

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/rlfunc/rlfunc/internal/marks"
	"github.com/rlfunc/rlfunc/internal/serverinfo"
)

const (
	loadInterval = time.Second     // minimum between two loads on one node
	loadTimeout  = 5 * time.Second // for one load, unless the client's own timeouts are shorter
)

// Stats count what a Client did about servers that lacked its library.
type Stats struct {
	NotLoaded uint64 // calls that found the library missing
	Loads     uint64 // loads that succeeded, one for each node that lacked the library
	Refused   uint64 // loads that failed, got no answer, or came after another client's
}

// An autoloader loads a client's library on nodes that lack it. When many calls find it missing, one loads it and the others
// wait. It never replaces a library: the server refuses a library that is already there, whatever its version.
type autoloader struct {
	caller Caller
	lib    *Library
	off    bool // nothing is loaded; the server is only asked why the library is missing
	now    func() time.Time

	ended     atomic.Uint64 // loads that have ended; a call notes it before it is sent, because a later load may provide what it misses
	notLoaded atomic.Uint64
	loads     atomic.Uint64
	refused   atomic.Uint64

	mu    sync.Mutex
	nodes map[string]*flight // the latest load on each
}

// A flight is one load on one node.
type flight struct {
	done chan struct{}
	// Set when done is closed:
	number  uint64 // position in load completion order, from 1
	at      time.Time
	err     error
	found   *loadedLibrary // what the node holds, after an error
	missing bool           // the node says that it holds nothing, after an error
	refused bool           // the node refuses FUNCTION, so nobody can load a library
}

// load loads the missing library, or waits for a load in progress. It returns nil if the call should be sent once more, and the
// load, which explain uses if that does not help.
func (a *autoloader) load(ctx context.Context, cmd *command, mark uint64) (*flight, error) {
	a.notLoaded.Add(1)
	to, late := within(ctx, func() route { return routeOf(ctx, a.caller, cmd) })
	if late {
		return nil, ctx.Err()
	}
	a.mu.Lock()
	f, started := a.nodes[to.addr], false
	switch {
	case f == nil || f.over() && f.number <= mark && a.now().Sub(f.at) >= loadInterval:
		f, started = &flight{done: make(chan struct{})}, true
		if a.nodes == nil {
			a.nodes = map[string]*flight{}
		}
		a.nodes[to.addr] = f
	case f.over() && f.number <= mark:
		a.mu.Unlock()
		if a.off || f.refused {
			return f, nil
		}
		return nil, f.tooSoon()
	}
	a.mu.Unlock()
	if started {
		// Other calls wait for the load, so it does not end with this call's context.
		go a.run(context.WithoutCancel(ctx), f, to)
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-f.done:
	}
	return f, permanentError(f.err)
}

func (a *autoloader) run(ctx context.Context, f *flight, at route) {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	var err error
	switch {
	case a.off:
		err = errOff
	default:
		if err = refuseOld(ctx, at, a.lib); err == nil {
			err = at.run(ctx, newLoad(ctx, a.lib))
		}
	}
	if err != nil {
		f.look(ctx, at, a.lib)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f.number, f.at, f.err = a.ended.Add(1), a.now(), err
	switch {
	case err == nil:
		a.loads.Add(1)
	case !a.off:
		a.refused.Add(1)
	}
	close(f.done)
}

// errOff is why a client with NoAutoLoad loads nothing.
var errOff = errors.New("auto-load is off")

// look reads what a node holds that has not loaded the library. A node that answers ERR to the list refuses FUNCTION as such: who may
// not read it would get NOPERM.
func (f *flight) look(ctx context.Context, at route, lib *Library) {
	list := redis.NewCmd(ctx, "FUNCTION", "LIST", "LIBRARYNAME", lib.ServerName, "WITHCODE")
	err := at.run(ctx, list)
	var reply redis.Error
	f.refused = errors.As(err, &reply) && strings.HasPrefix(reply.Error(), "ERR ")
	if err == nil {
		f.found = readLoaded(list.Val())
		f.missing = f.found == nil
	}
}

// over reports whether the load has ended. The autoloader is locked.
func (f *flight) over() bool {
	select {
	case <-f.done:
		return true
	default:
		return false
	}
}

func (f *flight) tooSoon() error {
	if f.err != nil {
		return fmt.Errorf("a load less than 1 s ago failed: %w", f.err)
	}
	return errors.New("it was loaded less than 1 s ago and is missing again; check what deletes it")
}

// permanentError returns the error of a load after which the library is certainly missing. After ERR the library may be there
// already, and after a lost reply it may have been loaded; sending the call again finds out.
func permanentError(err error) error {
	var reply redis.Error
	var old tooOldError
	if errors.As(err, &old) {
		return err
	}
	if err == nil || !errors.As(err, &reply) {
		return nil
	}
	switch code, _, _ := strings.Cut(reply.Error(), " "); code {
	case "ERR":
		return nil
	case "NOPERM":
		return fmt.Errorf("the user needs +function|load: %w", err)
	case "READONLY":
		return fmt.Errorf("this is a replica, which gets its libraries from the primary: %w", err)
	}
	return err
}

// explain completes the error of a call that found the library missing even after the load f.
func (a *autoloader) explain(lost *NotLoadedError, f *flight) error {
	switch {
	case f.err == nil:
		lost.Cause = errors.New("it was loaded, but the call did not find it; it may go to a replica that has not received it yet")
	case f.found != nil && !f.found.retired.IsZero():
		lost.Cause = errors.New("it was retired at " + f.found.retired.Format(time.RFC3339) + "; upgrade this client, or bring the library back with `rlfunc deploy`")
	case f.found != nil:
		lost.Found = f.found.version
	case a.off:
		lost.Missing = f.missing
	default:
		lost.Cause = f.err
	}
	return lost
}

// refusesFunctions returns the error of a call to a server that has FCALL and refuses FUNCTION.
func refusesFunctions(fn *Function, f *flight, attempt int) *UnavailableError {
	return &UnavailableError{
		Function: fn.String(), Attempts: attempt, Cause: f.err, kind: ErrUnsupported,
		Hint: "the server refuses FUNCTION, so it can hold no library; ModeAuto and ModeScripts run the same Lua as scripts",
	}
}

// newLoad returns a FUNCTION LOAD without REPLACE that is sent at most once.
func newLoad(ctx context.Context, lib *Library) redis.Cmder {
	return &command{Cmd: redis.NewCmd(ctx, "FUNCTION", "LOAD", lib.Code), signal: &writeSignal{}}
}

// A loadedLibrary is what a server holds under a library's name.
type loadedLibrary struct {
	version   string    // from the bundle's header, or "of an unknown version"
	retired   time.Time // when a retire replaced the library with this tombstone
	functions []string
}

// has reports whether the library registers a function. Servers compare names without case.
func (l *loadedLibrary) has(fn *Function) bool {
	for _, name := range l.functions {
		if strings.EqualFold(name, fn.ServerName) {
			return true
		}
	}
	return false
}

// readLoaded reads the reply to FUNCTION LIST of one library with its code, or returns nil if the list is empty.
func readLoaded(reply any) *loadedLibrary {
	list, _ := reply.([]any)
	if len(list) == 0 {
		return nil
	}
	library := readMap(list[0])
	code, _ := library["library_code"].(string)
	head := marks.ReadHead(code)
	l := &loadedLibrary{version: cmp.Or(head.Version, "of an unknown version"), retired: head.Retired}
	functions, _ := library["functions"].([]any)
	for _, f := range functions {
		if name, ok := readMap(f)["name"].(string); ok {
			l.functions = append(l.functions, name)
		}
	}
	return l
}

// readMap reads a map of RESP3 or its flat form in RESP2.
func readMap(reply any) map[string]any {
	fields := map[string]any{}
	switch r := reply.(type) {
	case map[string]any: // of an adapter
		return r
	case map[any]any:
		for k, v := range r {
			if name, ok := k.(string); ok {
				fields[name] = v
			}
		}
	case []any:
		for i := 0; i+1 < len(r); i += 2 {
			if name, ok := r[i].(string); ok {
				fields[name] = r[i+1]
			}
		}
	}
	return fields
}

// A tooOldError says that a server is not one that the library requires.
type tooOldError string

func (e tooOldError) Error() string { return string(e) }

// refuseOld returns an error if the server is not one that the library requires. It returns nil if the user may not run INFO.
func refuseOld(ctx context.Context, at route, lib *Library) error {
	required := marks.ReadHead(lib.Code).Requires
	if len(required) == 0 {
		return nil
	}
	cmd := redis.NewCmd(ctx, "INFO", "server")
	if at.run(ctx, cmd) != nil {
		return nil
	}
	text, _ := cmd.Val().(string)
	if why := required.Refusal(lib.ServerName+" "+lib.Version, serverinfo.Identify(text)); why != "" {
		return tooOldError(why)
	}
	return nil
}
