package logs

import (
	"fmt"
	"strings"

	"skidway/cmd/skidway/internal/cli"
	"skidway/distribute"
)

// printEvent prints an event of a shipper or a worker.
func printEvent(c *cli.Console, e distribute.Event) {
	switch {
	case e.Err != nil:
		c.Problem(e.File, e.Err)
		if e.Reading.Unsure || e.Reading.Unzoned {
			c.Notice("%s: counted %d lines%s", e.File, e.Lines, readingText(e.Reading))
		}
	case e.File != "":
		c.Notice("%s: %s", e.File, eventText(e))
	default:
		c.Notice("%s", eventText(e))
	}
}

// eventText returns what an event without an error reports, without the file's name.
func eventText(e distribute.Event) string {
	switch e.Kind {
	case distribute.EventShipped:
		return shippedText(e.Shipped)
	case distribute.EventRecovered:
		return "the problem is over"
	case distribute.EventCounted:
		text := fmt.Sprintf("counted %d lines", e.Lines) + readingText(e.Reading)
		if e.Problem != nil {
			text += "; " + e.Problem.Detail
		}
		return text
	case distribute.EventWaitingForTurn:
		return "waits for its turn: other shippers asked first"
	case distribute.EventWindowFull:
		return "waits, the window is full: " + laggardsText(e)
	case distribute.EventFileUploading:
		return "waits: it is being shipped already, or its shipper was killed and its lease has not expired"
	case distribute.EventFileBusy:
		return "waits until what was shipped of it before is counted: " + laggardsText(e)
	case distribute.EventWaitingForAll:
		return "waits until all is counted: " + laggardsText(e)
	case distribute.EventRestarted:
		return "this process was taken for dead and its upload given up: starting it again"
	case distribute.EventClaimLost:
		return "another worker took this file over: its count here is dropped"
	case distribute.EventUnsubscribed:
		return fmt.Sprintf("subscriber %q was removed: going on for the others", e.Subscriber)
	case distribute.EventAbandoned:
		return "the upload was abandoned: its shipper gave up or died; nothing of it is counted until it is shipped again"
	}
	return string(e.Kind)
}

// readingText returns how the lines of a file are read, if that was detected or needs care.
func readingText(r distribute.Reading) string {
	text := ""
	if r.Format != "" {
		text = fmt.Sprintf(", format %s (%d %% of the first lines", r.Format, r.Percent)
		if r.Unsure {
			text += ", unsure"
		}
		text += ")"
	}
	if r.Unzoned {
		text += "; warning: its times have no zone, so --tz leaves their days as they are: give --log-tz"
	}
	return text
}

// shippedText returns the outcome for a file, with a note in parentheses if there
// is more to report of it.
func shippedText(f distribute.ShippedFile) string {
	note := ""
	switch {
	case f.Outcome == distribute.Skipped:
		note = "it is " + f.Reason
	case f.Outcome == distribute.AlreadyShipped:
		note = "waits in Redis to be counted"
	case f.Grown > 0:
		note = fmt.Sprintf("it grew by %d bytes meanwhile: ship it again for those", f.Grown)
	case f.Base > 0:
		note = fmt.Sprintf("only what is new: from byte %d on", f.Base)
	case f.Length < f.Counted:
		note = fmt.Sprintf("this copy is shorter: %d of %d bytes", f.Length, f.Counted)
	case f.Problem != nil:
		note = f.Problem.Detail
	}
	if note == "" {
		return f.Outcome.String()
	}
	return f.Outcome.String() + " (" + note + ")"
}

// laggardsText returns which subscribers a shipper waits for.
func laggardsText(e distribute.Event) string {
	if e.LacksSubscriber() {
		return fmt.Sprintf("channel %q has no subscriber, so nothing is counted or freed: start `skidway logs work --channel %s --subscriber NAME`",
			e.Channel, e.Channel)
	}
	var texts, gone []string
	for _, l := range e.Laggards {
		texts = append(texts, l.String())
		if l.Gone() && l.Files > 0 {
			gone = append(gone, unsubscribeHint(e.Channel, l))
		}
	}
	return strings.Join(append(texts, gone...), ", ")
}

// unsubscribeHint returns how to free the files that wait for a subscriber without workers.
func unsubscribeHint(channel string, l distribute.Laggard) string {
	return fmt.Sprintf("to free them: skidway logs unsubscribe --channel %s --subscriber %s", channel, l.Subscriber)
}
