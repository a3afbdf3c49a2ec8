// Package cli holds what all commands share: opening a Redis, output, arguments,
// flag values, exit codes, signals and progress.
package cli

import "io"

// An App is what all commands of one run share.
type App struct {
	Out     io.Writer // results
	Console *Console  // everything else

	// Global flags.
	Redis, Prefix string
}
