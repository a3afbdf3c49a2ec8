package messages

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"time"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute/chat"
)

// A roomMessage is a message to a room, as it is printed in JSON.
type roomMessage struct {
	message
	Nick string `json:"nick,omitempty"`
}

func roomMessageOf(m chat.RoomMessage) roomMessage {
	return roomMessage{messageOf("", m.Message), m.Nick}
}

// A roomChange tells in JSON that a message was taken back.
type roomChange struct {
	Position  uint64    `json:"position"`
	Retracted uint64    `json:"retracted"`
	By        string    `json:"by"` // empty: an operator
	Time      time.Time `json:"time"`
}

func roomChangeOf(change chat.Retraction) roomChange {
	return roomChange{change.Position, change.Message, change.By, change.Time.UTC()}
}

// A roomSettings is the settings of a room, as JSON has them.
type roomSettings struct {
	TTL      float64               `json:"ttl_seconds"`
	Presence float64               `json:"presence_seconds"`
	Max      int                   `json:"max"`
	Keep     int                   `json:"keep"`
	Password bool                  `json:"password"`
	Owner    string                `json:"owner"`
	Mutes    map[string]*time.Time `json:"mutes"` // null: for good
}

func roomSettingsOf(s chat.RoomSettings) roomSettings {
	out := roomSettings{s.TTL.Seconds(), s.Presence.Seconds(), s.Max, s.Keep, s.Password, s.Owner, map[string]*time.Time{}}
	for id, until := range s.Mutes {
		out.Mutes[id] = utc(until)
	}
	return out
}

// utc gives a time for JSON, nil for none.
func utc(at time.Time) *time.Time {
	if at.IsZero() {
		return nil
	}
	at = at.UTC()
	return &at
}

// A roomNews is a page of a room, as JSON has it.
type roomNews struct {
	Messages []roomMessage `json:"messages"`
	Changes  []roomChange  `json:"changes"`
	First    uint64        `json:"first"` // 0: the page is empty
	Position uint64        `json:"position"`
	More     bool          `json:"more"`
	Oldest   uint64        `json:"oldest"`
	TTL      float64       `json:"ttl_seconds"`
	Online   int           `json:"online"`
	Settings roomSettings  `json:"settings"`
}

func roomNewsOf(news chat.News) roomNews {
	out := roomNews{
		Messages: []roomMessage{}, Changes: []roomChange{}, // never null
		First: news.First, Position: news.Position, More: news.More, Oldest: news.Oldest,
		TTL: news.TTL.Seconds(), Online: news.Online, Settings: roomSettingsOf(news.Settings),
	}
	for _, m := range news.Messages {
		out.Messages = append(out.Messages, roomMessageOf(m))
	}
	for _, change := range news.Changes {
		out.Changes = append(out.Changes, roomChangeOf(change))
	}
	return out
}

// typeRetraction is the type that what was taken back has in CSV.
const typeRetraction = "retraction"

// roomLines gives messages and what was taken back in their order; named
// is with nicknames, for people.
func roomLines(news chat.News, named bool) []message {
	var lines []message
	for _, m := range news.Messages {
		line := messageOf("", m.Message)
		if named && m.Nick != "" {
			line.Sender = fmt.Sprintf("%s (%s)", m.Nick, m.Sender)
		}
		lines = append(lines, line)
	}
	for _, change := range news.Changes {
		lines = append(lines, message{
			ID: change.Position, Sender: cmp.Or(change.By, "operator"), Time: change.Time.UTC(),
			Type: typeRetraction, Text: fmt.Sprintf("(took back message %d)", change.Message),
		})
	}
	slices.SortStableFunc(lines, func(a, b message) int { return cmp.Compare(a.ID, b.ID) })
	return lines
}

// printNews prints a page of a room, in JSON as one object.
func printNews(a *cli.App, format string, news chat.News) error {
	return a.Print(format,
		func(out io.Writer) error { return writeLines(out, roomLines(news, true)) },
		func(out io.Writer) error { return writeRows(out, roomLines(news, false), true) },
		func(out io.Writer) error { return cli.WriteJSON(out, roomNewsOf(news)) })
}

// A roomFeed prints pages of a room as they come, in JSON one object a line. It
// is not safe for concurrent use.
type roomFeed struct {
	app    *cli.App
	format string
	begun  bool
}

func (f *roomFeed) print(news chat.News) error {
	head := !f.begun
	f.begun = true
	return f.app.Print(f.format,
		func(out io.Writer) error { return writeLines(out, roomLines(news, true)) },
		func(out io.Writer) error { return writeRows(out, roomLines(news, false), head) },
		func(out io.Writer) error {
			for _, object := range roomObjects(news) {
				if err := cli.WriteJSONLine(out, object); err != nil {
					return err
				}
			}
			return nil
		})
}

// roomObjects gives messages and what was taken back in their order.
func roomObjects(news chat.News) []any {
	var objects []any
	changes := news.Changes
	for _, m := range news.Messages {
		for ; len(changes) > 0 && changes[0].Position < m.ID; changes = changes[1:] {
			objects = append(objects, roomChangeOf(changes[0]))
		}
		objects = append(objects, roomMessageOf(m))
	}
	for _, change := range changes {
		objects = append(objects, roomChangeOf(change))
	}
	return objects
}

// rough is a length of time for people.
func rough(d time.Duration) string {
	if d < time.Minute {
		return d.Round(time.Second / 10).String()
	}
	return d.Round(time.Second).String()
}
