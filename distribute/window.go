package distribute

import (
	"context"
	"fmt"
)

// smallestWindow holds a file of one block at least.
const smallestWindow = 1 << 20

// InvalidWindowError says that a window is too small for any use.
type InvalidWindowError struct{ Bytes int64 }

func (e *InvalidWindowError) Error() string {
	return fmt.Sprintf("a window of %d bytes is too small: 1 MiB is the least", e.Bytes)
}

// SetWindow sets how many bytes of memory the channel's files may take up in
// Redis at once, for all its shippers. Files that are in Redis already stay.
func (c *Channel) SetWindow(ctx context.Context, bytes int64) error {
	if bytes < smallestWindow {
		return &InvalidWindowError{bytes}
	}
	err := c.db.Retry(ctx, func() error { return c.db.HSet(ctx, c.keys.channel(), "window", bytes).Err() })
	if err != nil {
		return fmt.Errorf("set the window of channel %q: %w", c.name, err)
	}
	return nil
}
