package fcall

import (
	"regexp"
	"strings"
)

// A function runs with the permissions of its caller. If a command inside it lacks one, the server answers ERR, and only the
// text says so. Another ERR may precede it. Redis 7.0 does not name the command:
//
//	ACL failure in script: User api has no permissions to run the 'rpush' command
//	ACL failure in script: No permissions to access a key
//	The user executing the script can't run this command or subcommand
//	The user executing the script can't access at least one of the keys mentioned in the command arguments
var (
	deniedMark    = regexp.MustCompile(`^(?:ERR )?(?:ACL failure in script: |The user executing the script can't )`)
	deniedCommand = regexp.MustCompile(`to run the '([^']+)' command`)
)

// denied says which permission a command inside a function lacked, or returns "" if text is about something else.
func denied(text string) string {
	if !deniedMark.MatchString(text) {
		return ""
	}
	const inside = "no permission inside the function: "
	switch m := deniedCommand.FindStringSubmatch(text); {
	case m != nil:
		return inside + "the user needs +" + m[1]
	case strings.Contains(text, "can't run this command"):
		return inside + "the user lacks permission for a command, and this server does not name it"
	case strings.Contains(text, "key"):
		return inside + "the user lacks permission for a key"
	}
	return ""
}
