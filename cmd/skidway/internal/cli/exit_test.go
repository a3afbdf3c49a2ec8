package cli

import (
	"fmt"
	"testing"

	"skidway/distribute"
	"skidway/distribute/stream"
)

func TestHintNamesWhatTheCommandCanChange(t *testing.T) {
	t.Parallel()
	for want, err := range map[string]error{
		`a.log: none of its first lines is in the format "w3c": name another --format, or auto (skidway logs explain shows what to give)`:         &distribute.WrongFormatError{Format: "w3c"},
		"a.log: its segments vanished from Redis: ship it again (`skidway logs status` shows the channel; is something else deleting keys?)":      distribute.ErrVanished,
		"a.log: needs 3145728 bytes in Redis at once, and the channel's window is 1048576: ship it with --window 4MiB or more, or split the file": &distribute.TooLargeError{Need: 3 << 20, Window: 1 << 20},
		"a.log: no files in this directory": stream.ErrNoFiles,
	} {
		if got := WithHint(fmt.Errorf("a.log: %w", err)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
