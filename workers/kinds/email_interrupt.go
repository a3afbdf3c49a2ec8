package kinds

import (
	"context"
	"text/template/parse"
)

// goOn is what a template calls at each turn of a range and whenever a template
// begins: it can turn for years and write nothing, and nobody can stop it.
const goOn = "skidwayGoOn"

// endable gives what makes a template end with ctx.
func endable(ctx context.Context) map[string]any {
	return map[string]any{goOn: func() (bool, error) { return true, context.Cause(ctx) }}
}

// makeEndable puts the calls in.
func makeEndable(tree *parse.Tree) {
	if tree == nil || tree.Root == nil {
		return
	}
	// A variable: html/template has nothing to escape then.
	trees, err := parse.Parse("", "{{$_ := "+goOn+"}}", "", "", map[string]any{goOn: goOn})
	if err != nil {
		return // of a constant: it can't be
	}
	call := trees[""].Root.Nodes[0]
	interrupt(tree.Root, call)
	tree.Root.Nodes = append([]parse.Node{call.Copy()}, tree.Root.Nodes...)
}

// interrupt puts a call at the start of every range below a list.
func interrupt(list *parse.ListNode, call parse.Node) {
	if list == nil {
		return
	}
	for _, node := range list.Nodes {
		var branch *parse.BranchNode
		switch node := node.(type) {
		case *parse.IfNode:
			branch = &node.BranchNode
		case *parse.WithNode:
			branch = &node.BranchNode
		case *parse.RangeNode:
			branch = &node.BranchNode
		default:
			continue
		}
		interrupt(branch.List, call)
		interrupt(branch.ElseList, call)
		if node.Type() == parse.NodeRange {
			branch.List.Nodes = append([]parse.Node{call.Copy()}, branch.List.Nodes...)
		}
	}
}
