package acl_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rlfunc/rlfunc/codegen"
	"github.com/rlfunc/rlfunc/codegen/acl"
	"github.com/rlfunc/rlfunc/codegen/spec"
	"github.com/rlfunc/rlfunc/functions"
)

// The rule of a service that gives places back, and calls nothing else.
func ExampleFunction() {
	tree, found := codegen.Load(functions.FS, "functions", codegen.Options{})
	if len(found) > 0 {
		fmt.Println(found.Error())
		return
	}
	lib, _ := tree.Library("concurrency")
	i := slices.IndexFunc(lib.Spec.Functions, func(fn spec.Function) bool { return fn.Name == "release" })
	rule := acl.Function(&lib.Spec, &lib.Spec.Functions[i], "")
	fmt.Println(strings.Join(rule.Keys, " "))
	fmt.Println("+" + strings.Join(rule.Commands, " +"))
	// Output:
	// ~rl:*
	// +fcall|concurrency_v1_release +hdel +hget +time +type +zincrby +zrem +zscore
}
