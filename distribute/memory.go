package distribute

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"

	"skidway"
	"skidway/internal/handle"
)

// A MemoryError is the error for channels that can fill Redis: their windows have
// room for more bytes than Redis has left.
type MemoryError struct {
	Channels  int
	Left      int64 // bytes that the windows of all channels have left
	Used      int64 // bytes of memory that Redis uses
	MaxMemory int64 // its setting maxmemory, in bytes
}

func (e *MemoryError) Error() string {
	return fmt.Sprintf("the windows of %d channels have %s left, and Redis has %s (maxmemory is %s, %s are used): once it is full, shippers fail and no job is added",
		e.Channels, humanize.IBytes(uint64(e.Left)), humanize.IBytes(uint64(max(0, e.MaxMemory-e.Used))), humanize.IBytes(uint64(e.MaxMemory)), humanize.IBytes(uint64(e.Used)))
}

// CheckMemory returns a [MemoryError] if the channels can fill Redis, on a Cluster
// all of its masters together. It returns nil for a Redis without a limit, or
// whose limit the user may not read.
func CheckMemory(ctx context.Context, db *skidway.DB) error {
	conn := handle.Conn(db)
	if conn.Embedded() {
		return nil
	}
	channels, err := Channels(ctx, db)
	if err != nil {
		return err
	}
	found := MemoryError{Channels: len(channels)}
	for _, c := range channels {
		found.Left += max(0, c.Window-c.Bytes)
	}
	servers, err := conn.Servers(ctx)
	if err != nil {
		return fmt.Errorf("compare the windows with maxmemory: %w", err)
	}
	for _, server := range servers {
		if server.MaxMemory == 0 {
			return nil
		}
		found.Used += server.UsedMemory
		found.MaxMemory += server.MaxMemory
	}
	if found.Left > found.MaxMemory-found.Used {
		return &found
	}
	return nil
}
