package dash

import (
	"slices"
	"strings"

	"skidway/ops/access"
	"skidway/ops/dash/internal/words"
)

// A viewer is who looks at a page, with their rights. Its principal is nil if that is not known.
type viewer struct{ Who *access.Principal }

// May reports whether the principal may do something with a queue; "*" means all of them.
func (v viewer) May(action, queue string) bool { return v.Who.May(access.Action(action), queue) }

// MayAny reports whether the principal has a right on any queue.
func (v viewer) MayAny(action string) bool { return v.mayAny(access.Action(action)) }

// mayAny reports whether the principal has a right on any queue.
func (v viewer) mayAny(right access.Action) bool {
	return v.Who != nil && (right == "" || slices.ContainsFunc(v.Who.Scopes, func(s access.Scope) bool { return s.Action == right }))
}

// WhyNot returns why a button is disabled, empty if it is not.
func (v viewer) WhyNot(action, queue string) string {
	if v.May(action, queue) {
		return ""
	}
	return words.T("role.lacks", words.T("right."+action))
}

// WhyNotAdd returns why a button that adds a job of a kind is disabled, empty if it is not.
func (v viewer) WhyNotAdd(queue, kind string) string {
	if v.Who.MayAdd(queue, kind) {
		return ""
	}
	return words.T("role.lacks_add", kind, queue)
}

// Rights returns what the principal may do, in words.
func (v viewer) Rights() string {
	var names []string
	for _, action := range []access.Action{access.View, access.Operate, access.Enqueue, access.Admin, access.Reveal} {
		if v.mayAny(action) {
			names = append(names, words.T("right."+string(action)))
		}
	}
	return words.T("me.rights", strings.Join(names, ", "))
}
