// Package replay tells what a policy would have done to the traffic of an access log.
//
// [Run] reads a log's lines, finds each one's endpoint by the policy's patterns and its subject by its address, and decides it
// as package guard does: by guard's own Lua, on embedded servers whose clock is that of the log. The [Report] says how much was
// allowed and refused, of whom, by which limit and when; it is data, and prints itself as text and as one HTML page.
//
// # What a log cannot tell
//
// A line counts for one identity: the client's address, or the user. Limits by other identities, or by a combination, are left out; the
// report names them. A deny of an address holds for lines with a user, too.
//
// Challenges are left out, and so are the IDs that make repeats free, unless a JSON line has a field for them. A budget is
// charged the endpoint's estimate, which stays. What Redis does when it is not there has no part.
//
// # The clock
//
// It never runs backwards: a line that is earlier than one before it, as servers write them when a request ends, is decided at the
// time of the latest one. A line that is more than Options.Late earlier is not decided, and told.
//
// # Why it is fast
//
// A call that cannot be refused is not made until one comes that can: what a subject took within a limit's window is at most what
// it asked for. And a refusal writes nothing, so until its retry_after the next ones are known. Subjects are spread over
// several servers. None of this changes a result; a test compares with a run in which each line is one call after the other.
package replay
