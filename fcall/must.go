package fcall

// Must rejects a call, or a row of a pack, that breaks a rule of the header: what name says must be otherwise.
func (a *Args) Must(name, must string) { a.addError(name, must, "") }

// MustRow rejects a row of a group that breaks a rule of the header.
func (a *Args) MustRow(group string, row int, name, must string) {
	a.group, a.row = group, row
	a.addError(name, must, "")
	a.group = ""
}

// Differ rejects a call of whose rows two are alike.
func (a *Args) Differ(name, must string, rows int, alike func(i, j int) bool) {
	for i := range rows {
		for j := range i {
			if alike(i, j) {
				a.addError(name, must, "")
				return
			}
		}
	}
}

// Or returns what a pointer leads to, or the default if it is nil.
func Or[T any](v *T, absent T) T {
	if v == nil {
		return absent
	}
	return *v
}
