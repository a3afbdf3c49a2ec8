package dash

import (
	"time"

	"skidway/ops"
	"skidway/queue"
)

// SetCheckEvery sets how often sessions of open streams are checked.
func (d *Dash) SetCheckEvery(every time.Duration) { d.checkEvery = every }

// Patterns returns the patterns of all routes.
func Patterns() (patterns []string) {
	for i := range routes {
		patterns = append(patterns, routes[i].pattern)
	}
	return patterns
}

// Words returns the title, the button and the other words of a question about all jobs that match.
func Words(asked *ops.Question) (title, button, looked string) {
	d := questionData{Do: asked.Do, Queue: asked.Queue, State: asked.State, Asked: asked}
	d.setAsked()
	return d.Title, d.Button, d.Looked
}

// Progress returns how many jobs an operation has changed, in words.
func Progress(op queue.Operation) string { return changedText(op) }

// An Event is what has changed of a page.
type Event = event

// PatternOf returns the pattern of the live page at a path, empty if there is none.
func (d *Dash) PatternOf(path string) string {
	if _, route := d.liveRoute(path); route != nil {
		return route.pattern
	}
	return ""
}

// LivePatterns returns the patterns of the routes whose pages change in place.
func LivePatterns() (patterns []string) {
	for i := range routes {
		if routes[i].live {
			patterns = append(patterns, routes[i].pattern)
		}
	}
	return patterns
}
