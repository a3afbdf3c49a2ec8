package bench

import (
	"encoding/json"
	"fmt"
	"runtime"

	"github.com/dustin/go-humanize"

	"skidway/cmd/skidway/internal/cli"
)

var crowdTable = []queueFigure{
	{"sent/s", "send_per_s", "stream_send_per_s", 0},
	{"read and acknowledged/s", "read_per_s", "stream_read_per_s", 0},
	{"Redis bytes a message", "bytes_per_message", "stream_bytes_per_message", 0},
	{"Redis bytes a member", "bytes_per_member", "stream_bytes_per_member", 0},
	{"and a message it has not acknowledged", "", "stream_bytes_per_pending", 0},
}

var pairTable = []queueFigure{
	{"mailbox: sent/s", "mailbox_send_per_s", "", 0},
	{"mailbox: read and acknowledged/s", "mailbox_read_per_s", "", 0},
	{"conversation: sent/s", "conversation_send_per_s", "", 0},
	{"conversation: read/s", "conversation_read_per_s", "", 0},
	{"room: sent/s", "room_send_per_s", "", 0},
	{"room: read/s", "room_read_per_s", "", 0},
}

func (f queueFigures) medians() map[string]any {
	medians := map[string]any{}
	for key, values := range f {
		medians[key] = median(values)
	}
	return medians
}

// print writes the median of each figure and what it was measured with.
func (b *chatBench) print(server string) error {
	if b.json {
		object := b.figures.medians()
		object["redis"], object["processors"], object["runs"] = server, runtime.GOMAXPROCS(0), b.runs
		object["messages"], object["payload_bytes"], object["senders"] = b.messages, b.payload, b.many
		groups := []any{}
		for i, n := range b.members {
			group := b.crowds[i].medians()
			group["members"] = n
			groups = append(groups, group)
		}
		object["groups"] = groups
		encoder := json.NewEncoder(b.Out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(object)
	}
	_, err := fmt.Fprintf(b.Out, "%s messages of %d bytes, %d senders, %d readers, pages of %d\n%s, %d processors, medians of %d runs\n\n",
		humanize.Comma(int64(b.messages)), b.payload, b.many, benchReaders, benchPage, server, runtime.GOMAXPROCS(0), b.runs)
	if err != nil {
		return err
	}
	return b.table().Write(b.Out)
}

func (b *chatBench) table() *cli.Table {
	t := &cli.Table{Heads: []string{"", "SKIDWAY", "STREAM", "RATIO"}, Right: []bool{false, true, true, true}}
	for i, n := range b.members {
		t.Add(fmt.Sprintf("group of %s", humanize.Comma(int64(n))))
		for _, row := range crowdTable {
			ours, stream, ratio := "0", amount(median(b.crowds[i][row.bare]), 0), ""
			if row.key != "" {
				ours = amount(median(b.crowds[i][row.key]), 0)
				ratio = amount(median(b.crowds[i][row.key])/median(b.crowds[i][row.bare]), 2)
			}
			t.Add("  "+row.name, ours, stream, ratio)
		}
	}
	for _, row := range pairTable {
		t.Add(row.name, amount(median(b.figures[row.key]), 0))
	}
	return t
}
