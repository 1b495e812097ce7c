package guard

import "time"

// A moment is a time on this process's steady clock: reading it costs half of time.Now.
type moment time.Duration

var epoch = time.Now()

func now() moment { return moment(time.Since(epoch)) }

func (m moment) add(d time.Duration) moment         { return m + moment(d) }
func (m moment) since(earlier moment) time.Duration { return time.Duration(m - earlier) }
