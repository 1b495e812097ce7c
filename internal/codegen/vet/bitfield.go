package vet

import "strings"

// fieldReplies returns the elements of a reply of BITFIELD, one for each subcommand, or nil if vet does not know them. Behind OVERFLOW FAIL, an
// element of SET or INCRBY may be false.
func fieldReplies(args []value) (out []value) {
	fails := false
	for i := 1; i < len(args); {
		result, size := of(isInt), 4
		switch word := strings.ToUpper(literal(args[i])); word {
		case "OVERFLOW":
			mode := valueAt(args, i+1).literal
			fails = mode == nil || strings.EqualFold(*mode, "FAIL")
			i += 2
			continue
		case "GET":
			size = 3
		case "SET", "INCRBY":
			if fails {
				result.kinds |= isFalse
			}
		default:
			return nil
		}
		out = append(out, result)
		i += size
	}
	return out
}
