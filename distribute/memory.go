package distribute

import (
	"context"
	"fmt"

	"github.com/dustin/go-humanize"

	"skidway"
	"skidway/internal/handle"
	"skidway/internal/rdb"
)

// A MemoryError is the error for channels that can fill Redis: their windows have
// room for more bytes than Redis has left.
type MemoryError struct {
	Channels  int
	Left      int64  // bytes that the windows of these channels have left
	Server    string // address of the master that holds them, on a Cluster; else empty
	Used      int64  // bytes of memory that it uses
	MaxMemory int64  // its setting maxmemory, in bytes
}

func (e *MemoryError) Error() string {
	server := "Redis"
	if e.Server != "" {
		server = "their master " + e.Server
	}
	return fmt.Sprintf("the windows of %d channels have %s left, and %s has %s (maxmemory is %s, %s are used): once it is full, shippers fail and no job is added",
		e.Channels, humanize.IBytes(uint64(e.Left)), server, humanize.IBytes(uint64(max(0, e.MaxMemory-e.Used))), humanize.IBytes(uint64(e.MaxMemory)), humanize.IBytes(uint64(e.Used)))
}

// CheckMemory returns a [MemoryError] if the channels can fill Redis; on a Cluster, if
// they can fill one of its masters, as all keys of a channel are on one. It returns nil
// for a Redis without a limit, or whose limit the user may not read.
func CheckMemory(ctx context.Context, db *skidway.DB) error {
	conn := handle.Conn(db)
	if conn.Embedded() {
		return nil
	}
	channels, err := Channels(ctx, db)
	if err != nil {
		return err
	}
	servers, err := conn.Servers(ctx)
	if err != nil {
		return fmt.Errorf("compare the windows with maxmemory: %w", err)
	}
	byServer := map[string][]ChannelInfo{}
	for _, c := range channels {
		addr, err := conn.MasterOf(ctx, channelKeys(conn.Prefix(), c.Name).channel())
		if err != nil {
			return fmt.Errorf("compare the windows with maxmemory: %w", err)
		}
		byServer[addr] = append(byServer[addr], c)
	}
	for _, server := range servers {
		if found := compareWindows(server, byServer[server.Addr]); found != nil {
			return found
		}
	}
	return nil
}

// compareWindows returns an error if channels can fill the server that holds them.
func compareWindows(server rdb.Server, channels []ChannelInfo) *MemoryError {
	found := &MemoryError{Channels: len(channels), Server: server.Addr, Used: server.UsedMemory, MaxMemory: server.MaxMemory}
	for _, c := range channels {
		found.Left += max(0, c.Window-c.Bytes)
	}
	if found.Channels == 0 || found.MaxMemory == 0 || found.Left <= found.MaxMemory-found.Used {
		return nil
	}
	return found
}
