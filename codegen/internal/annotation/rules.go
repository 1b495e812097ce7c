package annotation

// A Rule is one possible error in the header of a file.
type Rule struct {
	ID     string
	Checks string // one sentence, "Checks that ..."
}

// The rules' IDs.
const (
	RuleHeader      = "header"
	RuleUnknownTag  = "unknown-tag"
	RuleStrayTag    = "stray-tag"
	RuleRow         = "row"
	RuleName        = "name"
	RuleUnit        = "unit"
	RuleUnknownType = "unknown-type"
	RuleMissingType = "missing-type"
	RuleBounds      = "bounds"
	RuleOptional    = "optional"
	RuleDuplicate   = "duplicate"
	RuleGroup       = "group"
	RuleKeys        = "keys"
	RuleParams      = "params"
	RuleFlags       = "flags"
	RuleErrors      = "errors"
	RuleRefused     = "refused"
	RuleMust        = "must"
	RuleVersion     = "version"
	RuleFile        = "file"
	RuleUse         = "use"
	RuleState       = "state"
)

// BesideContract are the rules of the header with which its keys, arguments and results are as the author means them.
var BesideContract = []string{RuleUse, RuleState, RuleMust, RuleRefused, RuleVersion, RuleFlags}

// Rules lists every rule of this package, in the order of the documentation.
var Rules = []Rule{
	{RuleHeader, "Checks that the public function has a header: a block of --- lines directly above it that begins with a sentence."},
	{RuleUnknownTag, "Checks that every @tag is one that rlfunc knows."},
	{RuleStrayTag, "Checks that a tag is in the header, after three dashes, and not in another comment, where nothing reads it."},
	{RuleRow, "Checks that a row has all of its columns: name, type, and a text."},
	{RuleName, "Checks that names are whole words in snake_case and no Lua keyword."},
	{RuleUnit, "Checks that the unit is in the type and not in the name: rlfunc adds _us and _micros to the Lua name."},
	{RuleUnknownType, "Checks that every type is one that rlfunc knows."},
	{RuleMissingType, "Checks that every field has a type, and with it a unit."},
	{RuleBounds, "Checks that bounds can be read, carry their unit, are in order and stay within 2^53."},
	{RuleOptional, "Checks that only arguments are optional or have a default, which is within its bounds."},
	{RuleDuplicate, "Checks that no name is repeated, and that no two would be one name in the Go client."},
	{RuleGroup, "Checks that a group has bounds and fields, that fields follow their group or are declared by the lib file it names, and that groups do not nest."},
	{RuleKeys, "Checks that every call has a key, that a key names its Redis type and suffix, and that suffixes are one word."},
	{RuleParams, "Checks that the Lua function's parameters are the header's keys, arguments and groups, in the header's order, and that the keys of a group's rows follow the group."},
	{RuleFlags, "Checks that flags are Redis's own."},
	{RuleErrors, "Checks that an @error names a code in capitals and says when it is returned."},
	{RuleMust, "Checks that a @must is a Lua expression over arguments of the header, and has a reason."},
	{RuleRefused, "Checks that @refused names one bool or enum result, and of an enum the values that mean a refusal, and that @records is in a function that refuses calls."},
	{RuleVersion, "Checks that @library gives a name and a semantic version."},
	{RuleFile, "Checks that a function file holds one public function named like the file, and that library.lua holds only its header."},
	{RuleUse, "Checks that every @use names a file of lib/, once, without a cycle, that it is used, and that a function uses every file of lib/."},
	{RuleState, "Checks that an @state names what is stored, gives the number of its shape and says what that is, and that the files of a library agree on it."},
}
