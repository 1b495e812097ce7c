package fcall

import (
	"maps"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
)

// A keyCount is the third word of a call: how many keys it has. go-redis asks for its bytes when it writes the call to a connection,
// which nothing else shows: hooks and a cluster's router read Args, too.
type keyCount struct{ cmd *command }

// String returns the number, for hooks that log commands, and for the router.
func (k keyCount) String() string { return strconv.Itoa(k.cmd.keys) }

// MarshalBinary returns the number, and of a call that was abandoned before it was written one with which a server runs nothing.
func (k keyCount) MarshalBinary() ([]byte, error) {
	c := k.cmd
	if c.queues && c.asked.CompareAndSwap(false, true) && beingSized() {
		return strconv.AppendInt(c.space[:0], int64(c.keys), 10), nil
	}
	c.writes.Add(1)
	if c.left.Load() {
		return []byte("-1"), nil
	}
	return strconv.AppendInt(c.space[:0], int64(c.keys), 10), nil
}

// An auto-pipeliner asks for a command's bytes to add up their length before it queues it, by a function of this name, which is
// seen on the stack. Whatever asks otherwise, or a second time, is taken to write: it is about to.
const sizer = ".cmdApproxBytes"

// askers are the program counters of who asked for a keyCount, with whether it only sizes: a map that is replaced, not changed.
var askers atomic.Pointer[map[uintptr]bool]

// beingSized reports whether MarshalBinary was called for a length only.
func beingSized() bool {
	var pc [1]uintptr
	runtime.Callers(3, pc[:]) // Callers, beingSized and MarshalBinary are not the one who asks
	if known := askers.Load(); known != nil {
		if sizes, ok := (*known)[pc[0]]; ok {
			return sizes
		}
	}
	return learnAsker(pc[0])
}

func learnAsker(pc uintptr) (sizes bool) {
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	sizes = strings.HasSuffix(frame.Function, sizer)
	more := map[uintptr]bool{pc: sizes}
	if known := askers.Load(); known != nil {
		maps.Copy(more, *known)
	}
	askers.Store(&more) // what another goroutine learns at the same time is learned again when it asks
	return sizes
}
