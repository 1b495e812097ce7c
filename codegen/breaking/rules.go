package breaking

// A Category says what a change breaks.
type Category string

const (
	Call    Category = "call"    // a client of the old library that calls the new one and reads its replies
	API     Category = "api"     // code that is compiled against the new clients
	State   Category = "state"   // what the old library has stored
	Version Category = "version" // the versions themselves
)

// A Rule is one change that breaks a client or a deploy.
type Rule struct {
	ID       string
	Category Category
	Checks   string // one sentence, "Checks that ..."
	Why      string // who notices otherwise, and how
	Note     bool   // a finding is something to look at, and no break by itself
	Always   bool   // also between major versions
}

// Rules lists every rule, in the order of the documentation.
var Rules = []*Rule{
	&functionRemoved, &functionFlags, &keyPlace, &argumentPlace, &argumentNarrower, &argumentDefault, &resultPlace, &replyUnknown,
	&clientCode, &keyName, &keyType, &stateShape, &stateCode, &versionLowered, &versionSame, &releasedVersion,
}

var (
	functionRemoved = Rule{
		ID: "function-removed", Category: Call, Always: true,
		Checks: "Checks that no library is removed, and inside a major version no function.",
		Why:    "`ERR Function not found`: for a function from the moment of the deploy, for a library once its server is new or emptied.",
	}
	functionFlags = Rule{
		ID: "function-flags", Category: Call,
		Checks: "Checks that no flag change makes a server refuse calls that it ran.",
		Why:    "Without `no-writes`, FCALL_RO and replicas refuse the call; without `allow-oom`, a full server does; with `no-cluster`, a cluster does.",
	}
	keyPlace = Rule{
		ID: "key-place", Category: Call,
		Checks: "Checks that an old call carries as many keys as the function takes, in the same order.",
		Why:    "Keys are read by position: RLARG, or one key is read as another.",
	}
	argumentPlace = Rule{
		ID: "argument-place", Category: Call,
		Checks: "Checks that arguments, and those of a group's rows, keep their places and types. A new one is optional and comes last.",
		Why: "They are read by position: RLARG, or a limit is read as a window. An old client doesn't send a new one, but an older library " +
			"refuses calls that do: deploy before the services.",
	}
	argumentNarrower = Rule{
		ID: "argument-narrower", Category: Call,
		Checks: "Checks that every value that was taken still is: by bounds, by enums, by arguments that may be omitted, and by `@must`, whose texts are compared.",
		Why: "RLARG for calls that were allowed. If a `@must` only says what the function always refused, or the same in other words, " +
			"allow the finding.",
	}
	argumentDefault = Rule{
		ID: "argument-default", Category: Call,
		Checks: "Checks that an omitted argument keeps its meaning.",
		Why:    "The default is the server's: calls that omit it change their meaning with the deploy.",
	}
	resultPlace = Rule{
		ID: "result-place", Category: Call,
		Checks: "Checks that results, and those of a group's rows, keep their places and types. New ones come last.",
		Why: "Clients read a reply by position and ignore what follows: a refusal is read as an admission, or the reply can't be read and the " +
			"call has charged.",
	}
	replyUnknown = Rule{
		ID: "reply-unknown", Category: Call,
		Checks: "Checks that no value of an enum result and no error code is new.",
		Why:    "An old client doesn't know what the word means, and the call may have charged.",
	}
	clientCode = Rule{
		ID: "client-code", Category: API,
		Checks: "Checks that arguments and results keep their names, enum results their values, and Go fields their pointers.",
		Why: "Code that uses the clients doesn't compile with the new ones. A running client notices nothing: names aren't on the wire. A number that " +
			"may be omitted is a pointer in Go where 0 means something else.",
	}
	keyName = Rule{
		ID: "key-name", Category: State,
		Checks: "Checks that a key keeps its name in Redis: its suffix, and for a group's row what comes after it.",
		Why:    "State under the old name is never read again, so every limit restarts. While old and new clients run, each counts separately.",
	}
	keyType = Rule{
		ID: "key-type", Category: State, Always: true,
		Checks: "Checks that a key keeps its Redis type, and that one that lasts `forever` still does.",
		Why: "RLSTATE for every subject until its key has expired, or one version expires what the other promises to keep. Major versions share " +
			"keys, so another type needs another suffix.",
	}
	stateShape = Rule{
		ID: "state-shape", Category: State, Always: true,
		Checks: "Checks that what a function declares by `@state` keeps its number.",
		Why:    "One version cannot read what the other has stored. Major versions share keys, so another shape needs another suffix.",
	}
	stateCode = Rule{
		ID: "state-code", Category: State, Note: true, Always: true,
		Checks: "Checks whether the Lua of a file with an `@state` changed while its number stayed. A note, not a break.",
		Why:    "Only an author knows whether the shape is unchanged.",
	}
	versionLowered = Rule{
		ID: "version-lowered", Category: Version, Always: true,
		Checks: "Checks that a version is not lower than before.",
		Why:    "A deploy keeps a newer version: this one would never be loaded.",
	}
	versionSame = Rule{
		ID: "version-same", Category: Version,
		Checks: "Checks that changed code has a new version; with a released.sum, only for versions that it lists.",
		Why:    "A deploy refuses it as drifted, and the version does not identify the code on a server.",
	}
	releasedVersion = Rule{
		ID: "released", Category: Version, Always: true,
		Checks: "Checks that released.sum can be read, keeps its lines, and has the digests of the versions that it lists.",
		Why: "Servers hold the released bytes under that version, and a released version cannot be withdrawn. A new rlfunc that generates another " +
			"bundle needs a new version, too.",
	}
)
