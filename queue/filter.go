package queue

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// A Filter says which jobs of a state are meant: those that pass all that it
// asks for. The zero value means all.
type Filter struct {
	Kind string // only these; empty: all

	// OlderThan leaves younger jobs alone, NewerThan older ones. The age of a
	// dead or finished job counts from its end, that of others from when they
	// were enqueued. Zero: whatever their age.
	OlderThan, NewerThan time.Duration

	// Error is a part of why the job ended, or of an error that it remembers,
	// be letters of ASCII large or small. Empty: any job, also one without.
	Error string
}

// maxFilterText bounds the texts of a filter, in bytes.
const maxFilterText = 1 << 10

func (f Filter) check() error {
	switch {
	case f.OlderThan < 0:
		return fmt.Errorf("%w: older than %s: it can't be below zero", ErrInvalid, f.OlderThan)
	case f.NewerThan < 0:
		return fmt.Errorf("%w: newer than %s: it can't be below zero", ErrInvalid, f.NewerThan)
	case len(f.Kind) > maxFilterText || len(f.Error) > maxFilterText:
		return fmt.Errorf("%w: kinds and errors to look for have at most %d bytes", ErrInvalid, maxFilterText)
	}
	return nil
}

// args gives the filter as lua/walk.lua reads it.
func (f Filter) args() []any {
	// A job's errors are stored as JSON, so the text is looked for as it is
	// there, too.
	quoted, _ := json.Marshal(f.Error) // strings always marshal
	return []any{
		f.Kind, millis(f.OlderThan), millis(f.NewerThan),
		small(f.Error), small(string(quoted[1 : len(quoted)-1])),
	}
}

// small makes letters small as Lua does: those of ASCII.
func small(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, text)
}
