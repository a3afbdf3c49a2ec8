package logs

import (
	"testing"
	"time"

	"skidway/distribute"
)

func TestTextOfAnEvent(t *testing.T) {
	t.Parallel()
	shipped := func(f distribute.ShippedFile) distribute.Event {
		return distribute.Event{Kind: distribute.EventShipped, Shipped: f}
	}
	problem := &distribute.Problem{Kind: distribute.LinesTooLong, Detail: "line 3 is longer than 1 MiB: counted as unparsable"}
	laggards := []distribute.Laggard{
		{Subscriber: "new"},
		{Subscriber: "busy", Seen: time.Unix(1, 0), Idle: time.Second, Files: 1, Bytes: 1 << 20},
		{Subscriber: "gone", Seen: time.Unix(1, 0), Idle: 90 * time.Second, Files: 2, Bytes: 3 << 20},
	}
	const waits = `subscriber "new": no worker was ever seen, subscriber "busy": its workers are counting; files that wait for it: 1, 1.0 MiB, ` +
		`subscriber "gone": no worker seen for 1m30s; files that wait for it: 2, 3.0 MiB, ` +
		`to free them: skidway logs unsubscribe --channel web --subscriber gone`
	for _, c := range []struct {
		event distribute.Event
		want  string
	}{
		{shipped(distribute.ShippedFile{Outcome: distribute.Shipped}), "shipped"},
		{shipped(distribute.ShippedFile{Outcome: distribute.Shipped, Base: 7}), "shipped (only what is new: from byte 7 on)"},
		{shipped(distribute.ShippedFile{Outcome: distribute.Shipped, Base: 7, Grown: 8}), "shipped (it grew by 8 bytes meanwhile: ship it again for those)"},
		{shipped(distribute.ShippedFile{Outcome: distribute.AlreadyShipped}), "already shipped (waits in Redis to be counted)"},
		{shipped(distribute.ShippedFile{Outcome: distribute.AlreadyCounted}), "already counted"},
		{shipped(distribute.ShippedFile{Outcome: distribute.AlreadyCounted, Problem: problem}),
			"already counted (line 3 is longer than 1 MiB: counted as unparsable)"},
		{shipped(distribute.ShippedFile{Outcome: distribute.AlreadyCounted, Length: 5, Counted: 9, Problem: problem}),
			"already counted (this copy is shorter: 5 of 9 bytes)"},
		{distribute.Event{Kind: distribute.EventCounted, Lines: 4}, "counted 4 lines"},
		{distribute.Event{Kind: distribute.EventCounted, Lines: 4, Problem: problem},
			"counted 4 lines; line 3 is longer than 1 MiB: counted as unparsable"},
		{distribute.Event{Kind: distribute.EventWaitingForTurn}, "waits for its turn: other shippers asked first"},
		{distribute.Event{Kind: distribute.EventWindowFull, Channel: "web", Laggards: laggards}, "waits, the window is full: " + waits},
		{distribute.Event{Kind: distribute.EventFileBusy, Channel: "web", Laggards: laggards}, "waits until what was shipped of it before is counted: " + waits},
		{distribute.Event{Kind: distribute.EventFileUploading, Channel: "web", Laggards: laggards}, "waits: it is being shipped already, or its shipper was killed and its lease has not expired"},
		{distribute.Event{Kind: distribute.EventWaitingForAll, Channel: "web"},
			"waits until all is counted: channel \"web\" has no subscriber, so nothing is counted or freed: start `skidway logs work --channel web --subscriber NAME`"},
		{distribute.Event{Kind: distribute.EventRestarted}, "this process was taken for dead and its upload given up: starting it again"},
		{distribute.Event{Kind: distribute.EventClaimLost}, "another worker took this file over: its count here is dropped"},
		{distribute.Event{Kind: distribute.EventUnsubscribed, Subscriber: "gone"}, `subscriber "gone" was removed: going on for the others`},
		{distribute.Event{Kind: distribute.EventAbandoned},
			"the upload was abandoned: its shipper gave up or died; nothing of it is counted until it is shipped again"},
	} {
		if got := eventText(c.event); got != c.want {
			t.Errorf("%s: %q, want %q", c.event.Kind, got, c.want)
		}
	}
}
