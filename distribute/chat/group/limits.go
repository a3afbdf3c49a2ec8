package group

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"skidway/distribute/chat/internal/store"
)

// MinAway is the minimum of [Limits].Away: the visit of a waiting member is
// recorded every few seconds.
const MinAway = time.Minute

// Limits bound what a chat keeps for slow members. A field that is zero sets no
// limit. Without limits a chat keeps every message until all members have
// acknowledged it.
//
// The first three drop the oldest messages, read or not: a member that had not
// read them sees a jump in the ids, counted in [Member].Missed. Every call applies
// them, so dropped messages are not read any more, even if nothing was sent since.
type Limits struct {
	// Messages is the number of messages that are kept.
	Messages uint64

	// Bytes is the size of senders, bodies, types and URLs that is kept. The
	// newest message is kept even if it alone has more.
	Bytes uint64

	// Age is the time that a message is kept, to the millisecond.
	Age time.Duration

	// Away is for how long a member may neither read nor send (see
	// [Member].Seen). The next call of any client then ends its membership, as
	// [Client.Leave] does. At least [MinAway]. If all members were away for that
	// long, as after an outage of Redis, that call starts a minute in which no
	// member is dropped; they are dropped after it if none of them came back.
	Away time.Duration
}

func (l Limits) validate() error {
	for _, count := range []struct {
		field string
		value uint64
	}{{"limit of messages", l.Messages}, {"limit of bytes", l.Bytes}} {
		if count.value > store.LastExact {
			return store.Invalid(count.field, strconv.FormatUint(count.value, 10), "too large for an exact count: use 0 for no limit")
		}
	}
	if l.Age < 0 || l.Age > 0 && l.Age < time.Millisecond {
		return store.Invalid("limit of age", l.Age.String(), "less than a millisecond: use 0 for no limit")
	}
	if l.Away < 0 || l.Away > 0 && l.Away < MinAway {
		return store.Invalid("limit of being away", l.Away.String(), fmt.Sprintf("less than %v: use 0 for no limit", MinAway))
	}
	return nil
}

// limitsForm is the stored form of limits.
const limitsForm = "%d %d %d %d"

// note returns the stored form, "" for no limits.
func (l Limits) note() string {
	if l == (Limits{}) {
		return ""
	}
	return fmt.Sprintf(limitsForm, l.Messages, l.Bytes, l.Age.Milliseconds(), l.Away.Milliseconds())
}

// parseLimits parses the stored form, which a script has checked.
func parseLimits(note string) (l Limits) {
	var age, away int64
	if _, err := fmt.Sscanf(note, limitsForm, &l.Messages, &l.Bytes, &age, &away); err != nil {
		return Limits{}
	}
	l.Age, l.Away = time.Duration(age)*time.Millisecond, time.Duration(away)*time.Millisecond
	return l
}

// SetLimits replaces all limits of a chat, and drops the messages beyond them, in
// several steps if there are many. A chat between people ends when all of its
// members were away for too long, see [Limits].Away.
func (g *Client) SetLimits(ctx context.Context, id string, limits Limits) error {
	if err := g.check("chat", id); err != nil {
		return err
	}
	if err := limits.validate(); err != nil {
		return err
	}
	_, err := g.run(ctx, setLimitsScript, id, limits.note())
	return err
}

// ChangeLimits sets the limits of a chat to those that change returns for the present
// ones. If another client sets limits meanwhile, change is called again with those.
func (g *Client) ChangeLimits(ctx context.Context, id string, change func(Limits) Limits) error {
	if err := g.check("chat", id); err != nil {
		return err
	}
	for {
		info, err := g.run(ctx, infoScript, id)
		if err != nil {
			return err
		}
		before := info.Text(7)
		limits := change(parseLimits(before))
		if err := limits.validate(); err != nil {
			return err
		}
		a, err := g.run(ctx, setLimitsScript, id, limits.note(), before)
		if err != nil || a.Uint(0) == 1 {
			return err
		}
	}
}
