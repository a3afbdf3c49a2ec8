package access

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"skidway/queue"
)

// An Action is what a principal does with a queue.
type Action string

// The actions.
const (
	View    Action = "view"
	Operate Action = "operate"
	Enqueue Action = "enqueue"
	Admin   Action = "admin"
	Reveal  Action = "reveal"
	Scale   Action = "scale"
)

var actions = []Action{View, Operate, Enqueue, Admin, Reveal, Scale}

// All is the pattern of all queues, and the name by which [Principal.May] asks for what concerns
// all of them.
const All = "*"

// A Scope allows an action on the queues that match a pattern.
type Scope struct {
	Action Action
	Queue  string // a pattern
	Kind   string // a pattern; only of [Enqueue], where it is never empty
}

// ParseScope parses "ACTION:QUEUE" or "enqueue:QUEUE:KIND", where QUEUE and KIND are patterns.
// "enqueue:QUEUE" means all kinds that [All] covers. The error is a [queue.ErrInvalid].
func ParseScope(text string) (Scope, error) {
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return Scope{}, fmt.Errorf("%w: scope %.80q: want ACTION:QUEUE or enqueue:QUEUE:KIND", queue.ErrInvalid, text)
	}
	s := Scope{Action: Action(parts[0]), Queue: parts[1]}
	switch {
	case !slices.Contains(actions, s.Action):
		return Scope{}, fmt.Errorf("%w: scope %.80q: the action is none of %s", queue.ErrInvalid, text, join(actions))
	case s.Action != Enqueue && len(parts) == 3:
		return Scope{}, fmt.Errorf("%w: scope %.80q: only enqueue has kinds", queue.ErrInvalid, text)
	case len(parts) == 3:
		s.Kind = parts[2]
	case s.Action == Enqueue:
		s.Kind = All
	}
	if err := checkPattern(s.Queue, false); err != nil {
		return Scope{}, fmt.Errorf("%w: scope %.80q: queue: %w", queue.ErrInvalid, text, err)
	}
	if s.Action == Enqueue {
		if err := checkPattern(s.Kind, true); err != nil {
			return Scope{}, fmt.Errorf("%w: scope %.80q: kind: %w", queue.ErrInvalid, text, err)
		}
	}
	return s, nil
}

// ParseScopes parses scopes.
func ParseScopes(texts []string) (scopes []Scope, err error) {
	for _, text := range texts {
		s, err := ParseScope(text)
		if err != nil {
			return nil, err
		}
		scopes = append(scopes, s)
	}
	return scopes, nil
}

// String returns the form that [ParseScope] reads.
func (s Scope) String() string {
	text := string(s.Action) + ":" + s.Queue
	if s.Kind != "" {
		text += ":" + s.Kind
	}
	return text
}

// covers reports whether the scope allows an action on a queue, or on all queues for [All].
func (s Scope) covers(action Action, name string) bool {
	switch {
	case s.Action != action:
		return false
	case name == All:
		return s.Queue == All
	case queue.CheckQueueName(name) != nil:
		return false
	}
	matches, _ := path.Match(s.Queue, name)
	return matches
}

// namedKinds begin the kinds that [All] does not cover: they run programs, open connections, send
// mail, read files, or add jobs.
var namedKinds = []string{"exec.", "http.", "email.", "logs.", "skidway."}

// coversKind reports whether the scope allows a kind.
func (s Scope) coversKind(kind string) bool {
	for _, prefix := range namedKinds {
		if strings.HasPrefix(kind, prefix) && !strings.HasPrefix(s.Kind, prefix) {
			return false
		}
	}
	// Args of a forwarding job may be templates, which become other kinds later.
	if kind == "" || strings.ContainsAny(kind, "{}") {
		return false
	}
	matches, _ := path.Match(s.Kind, kind)
	return matches || s.Kind == All
}

const maxPattern = 128

// checkPattern returns an error if a pattern is none that can match a name.
func checkPattern(pattern string, slash bool) error {
	if pattern == "" || len(pattern) > maxPattern {
		return fmt.Errorf("a pattern has 1 to %d characters", maxPattern)
	}
	for _, c := range []byte(pattern) {
		letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !letter && !strings.ContainsRune("._-*?[]^", rune(c)) && (c != '/' || !slash) {
			return fmt.Errorf("a pattern has letters, digits and ._-*?[^], not %q", c)
		}
	}
	_, err := path.Match(pattern, "")
	return err
}

// join lists words.
func join[T ~string](words []T) string {
	var texts []string
	for _, word := range words {
		texts = append(texts, string(word))
	}
	return strings.Join(texts, ", ")
}
