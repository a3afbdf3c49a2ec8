package dash

import "time"

// SetCheckEvery sets how often sessions of open streams are checked.
func (d *Dash) SetCheckEvery(every time.Duration) { d.checkEvery = every }

// Patterns returns the patterns of all routes.
func Patterns() (patterns []string) {
	for i := range routes {
		patterns = append(patterns, routes[i].pattern)
	}
	return patterns
}
