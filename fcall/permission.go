package fcall

import (
	"regexp"
	"strings"
)

// A function runs with its caller's permissions. Where those do not do for a command inside it, the server says so with ERR, so only
// the text tells; in front of it may stand another ERR. Redis 7.0 does not say which command:
//
//	ACL failure in script: User api has no permissions to run the 'rpush' command
//	ACL failure in script: No permissions to access a key
//	The user executing the script can't run this command or subcommand
//	The user executing the script can't access at least one of the keys mentioned in the command arguments
var (
	deniedMark    = regexp.MustCompile(`^(?:ERR )?(?:ACL failure in script: |The user executing the script can't )`)
	deniedCommand = regexp.MustCompile(`to run the '([^']+)' command`)
)

// denied says in plain words which permission a command inside a function lacked; "" if text is about something else.
func denied(text string) string {
	if !deniedMark.MatchString(text) {
		return ""
	}
	const inside = "no permission inside the function: "
	switch m := deniedCommand.FindStringSubmatch(text); {
	case m != nil:
		return inside + "the user needs +" + m[1]
	case strings.Contains(text, "can't run this command"):
		return inside + "the user lacks a command that it runs, and this server does not say which"
	case strings.Contains(text, "key"):
		return inside + "the user may not use a key that it uses"
	}
	return ""
}
