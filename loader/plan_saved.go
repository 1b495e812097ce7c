package loader

import (
	"encoding/json"
	"fmt"

	"github.com/rlfunc/rlfunc/fcall"
)

// ReadPlan reads a plan that was saved as JSON. libs are the libraries that it was made for, in any order. If one is missing or
// has changed since, the error is ErrChanged. Other formats and other text are ErrPlan.
func ReadPlan(text []byte, libs ...*fcall.Library) (*Plan, error) {
	refuse := func(reason Reason, library, why string, cause error) (*Plan, error) {
		return nil, &Error{Op: "read the plan", Library: library, Reason: reason, Text: why, Cause: cause}
	}
	var head struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return refuse(ErrPlan, "", "it is not a saved plan: "+err.Error(), err)
	}
	if head.Format != PlanFormat {
		return refuse(ErrPlan, "", fmt.Sprintf("its format is %d, and this version reads format %d; plan again", head.Format, PlanFormat), nil)
	}
	p := &Plan{}
	if err := json.Unmarshal(text, p); err != nil {
		return refuse(ErrPlan, "", "it is not a saved plan: "+err.Error(), err)
	}
	if p.op() != OpDeploy {
		return refuse(ErrPlan, "", "it is the plan of a "+string(p.Op)+"; make it again with `rlfunc "+string(p.Op)+"`", nil)
	}
	given := map[string]*fcall.Library{}
	for _, lib := range libs {
		if lib != nil {
			given[lib.ServerName] = lib
		}
	}
	for _, planned := range p.Libraries {
		lib := given[planned.ServerName]
		switch {
		case lib == nil:
			return refuse(ErrChanged, planned.ServerName, "the plan contains this library, and it is missing now; plan again", nil)
		case lib.Digest() != planned.Digest:
			return refuse(ErrChanged, planned.ServerName, "it has changed since the plan was made; plan again", nil)
		}
		p.libs = append(p.libs, lib)
	}
	if err := checkLibraries("read the plan", p.libs); err != nil {
		return nil, err
	}
	for _, n := range p.Nodes {
		if len(n.Steps) != len(p.libs) {
			return refuse(ErrPlan, "", "node "+n.Addr+" does not have one step for each library; plan again", nil)
		}
		for i, s := range n.Steps {
			if s.Library != p.libs[i].ServerName {
				return refuse(ErrPlan, s.Library, "it is not the library that the step of node "+n.Addr+" is for; plan again", nil)
			}
		}
	}
	return p, nil
}
