package acl_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/rlfunc/rlfunc/codegen/acl"
	"github.com/rlfunc/rlfunc/codegen/spec"
)

func TestLibrary_namesEachCommandOnce(t *testing.T) {
	lib := &spec.Library{Name: "shop", Server: "shop_v1", Functions: []spec.Function{
		{Name: "look", Server: "shop_v1_look", Flags: []string{"no-writes"}, Command: []string{"GET", "TYPE"}},
		{Name: "buy", Server: "shop_v1_buy", Command: []string{"DECRBY", "GET", "TYPE"}},
	}}
	want := "ACL SETUSER seller reset on ~rl:* +decrby +fcall_ro|shop_v1_look +fcall|shop_v1_buy +get +type"
	if diff := cmp.Diff(want, acl.Library(lib, "").SetUser("seller")); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff("%R~eu:* +fcall_ro|shop_v1_look +get +type", acl.Function(lib, &lib.Functions[0], "eu").String()); diff != "" {
		t.Errorf("rule (-want +got):\n%s", diff)
	}
}
