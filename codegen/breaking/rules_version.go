package breaking

var versionRules = []Rule{
	{
		ID: "version-lowered", Category: Version, scope: onKeys, check: versionLowered,
		Checks: "Checks that a version is not lower than before.",
		Why:    "A deploy keeps a newer version: this one would never be loaded.",
	},
	{
		ID: "version-same", Category: Version, check: versionSame,
		Checks: "Checks that changed code has a new version; with a released.sum, only for versions that it lists.",
		Why:    "A deploy refuses it as drifted, and the version does not identify the code on a server.",
	},
	{
		ID: "released-form", Category: Version, scope: once, check: releasedForm,
		Checks: "Checks that released.sum can be read: a library, a version and a digest per line, each version once.",
		Why:    "An unreadable line protects nothing.",
	},
	{
		ID: "released-bytes", Category: Version, scope: everywhere, check: releasedBytes,
		Checks: "Checks that a released version still has the digest in released.sum.",
		Why:    "Servers hold the released bytes under that version. A new rlfunc that generates another bundle needs a new version, too.",
	},
	{
		ID: "released-edited", Category: Version, scope: once, check: releasedEdited,
		Checks: "Checks that released.sum loses no line and changes none.",
		Why:    "A released version cannot be withdrawn.",
	},
}

func versionLowered(p *pass) {
	if (p.sameMajor || p.highest) && compareVersions(p.new.Spec.Version, p.old.Spec.Version) < 0 {
		p.atLibrary("version %s of %s is lower than %s", p.new.Spec.Version, p.new.Spec.Name, p.old.Spec.Version)
	}
}

func versionSame(p *pass) {
	s := p.new.Spec
	if s.Version != p.old.Spec.Version || p.new.Digest == p.old.Digest {
		return
	}
	if r := p.newTree.Released; r != nil {
		line, released := r.find(s.Name, s.Version)
		switch {
		case !p.oldTree.Live:
			return // a version without a line is still being made, and the bytes of the others are for released-bytes
		case released && line.Digest != p.new.Digest:
			return // for released-bytes
		}
	}
	p.atLibrary("%s %s has other bytes than before: raise its version", s.Name, s.Version)
}

func releasedForm(p *pass) {
	if r := p.newTree.Released; r != nil {
		for _, bad := range r.bad {
			p.add(r.File, bad.line, 1, "%s", bad.text)
		}
	}
}

func releasedBytes(p *pass) {
	if p.new == nil || p.newTree.Released == nil {
		return
	}
	s := p.new.Spec
	if r, ok := p.newTree.Released.find(s.Name, s.Version); ok && r.Digest != p.new.Digest {
		p.atLibrary("%s %s was released as sha256:%.12s, and these bytes are sha256:%.12s: raise its version", s.Name, s.Version, r.Digest, p.new.Digest)
	}
}

func releasedEdited(p *pass) {
	if p.oldTree.Released == nil {
		return
	}
	file := p.oldTree.Released.File
	if p.newTree.Released != nil {
		file = p.newTree.Released.File
	}
	for _, was := range p.oldTree.Released.Lines {
		now, ok := p.newTree.Released.find(was.Library, was.Version)
		switch {
		case !ok:
			p.add(file, 1, 1, "the line of %s %s is gone: it was released", was.Library, was.Version)
		case now.Digest != was.Digest:
			p.add(file, now.Line, 1, "%s %s was released as sha256:%.12s, but the line says sha256:%.12s", was.Library, was.Version, was.Digest, now.Digest)
		}
	}
}
