package main

import (
	"strings"
	"testing"

	"github.com/rlfunc/rlfunc/loader"
)

// A plan and its result carry the same warnings, of the target and of each node.
func TestWarn_printsEachWarningOnce(t *testing.T) {
	target, node := []loader.Warning{{ID: "a", Text: "the target is odd"}}, []loader.Warning{{ID: "b", Text: "the node is odd"}}
	for _, json := range []bool{false, true} {
		var out, talk strings.Builder
		a := &app{out: &out, err: &talk, json: json}
		a.warnPlan(&loader.Plan{Warnings: target, Nodes: []loader.NodeSteps{
			{Node: loader.Node{Addr: "one:1"}, Warnings: node}, {Node: loader.Node{Addr: "two:2"}, Warnings: node},
		}})
		must(t, a.printResult(&loader.Result{Warnings: target, Nodes: []loader.NodeSteps{{Node: loader.Node{Addr: "one:1"}, Warnings: node}}}, nil))
		want := "warning: the target is odd\nwarning: one:1: the node is odd\nwarning: two:2: the node is odd\n"
		if got := talk.String(); got != want {
			t.Errorf("json %t: got\n%swant\n%s", json, got, want)
		}
	}
}
