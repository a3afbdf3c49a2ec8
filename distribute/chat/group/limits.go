package group

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"skidway/distribute/chat/internal/store"
)

// MinAway is the shortest [Limits].Away: who waits for messages is noted as
// being here every few seconds.
const MinAway = time.Minute

// Limits bound what a chat keeps for members who are slow. The zero value sets
// no limit, nor does a field that is zero. Without limits a chat keeps every
// message until all members have dealt with it.
//
// The first three drop the oldest messages, whether members have read them or
// not: such a member sees a jump in the ids, and [Member].Missed counts. Every
// call obeys them, so what they drop is not read any more, even if nothing was
// sent since.
type Limits struct {
	// Messages is the most messages kept.
	Messages uint64

	// Bytes is the most bytes kept: of the senders, bodies, types and URLs. The
	// newest message stays, even if it has more by itself.
	Bytes uint64

	// Age is how long a message is kept, to the millisecond.
	Age time.Duration

	// Away is for how long a member may neither read nor send (see
	// [Member].Seen). Then its membership ends, as [Client.Leave] ends it, with
	// the next call of anybody. At least [MinAway].
	Away time.Duration
}

func (l Limits) validate() error {
	for _, count := range []struct {
		field string
		value uint64
	}{{"limit of messages", l.Messages}, {"limit of bytes", l.Bytes}} {
		if count.value > store.LastExact {
			return store.Invalid(count.field, strconv.FormatUint(count.value, 10), "more than anybody can count: use 0 for no limit")
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

// limitsForm is how limits are noted in Redis.
const limitsForm = "%d %d %d %d"

// note gives the limits as they are noted, "" for none.
func (l Limits) note() string {
	if l == (Limits{}) {
		return ""
	}
	return fmt.Sprintf(limitsForm, l.Messages, l.Bytes, l.Age.Milliseconds(), l.Away.Milliseconds())
}

// parseLimits reads limits that a script has found to be well formed.
func parseLimits(note string) (l Limits) {
	var age, away int64
	if _, err := fmt.Sscanf(note, limitsForm, &l.Messages, &l.Bytes, &age, &away); err != nil {
		return Limits{}
	}
	l.Age, l.Away = time.Duration(age)*time.Millisecond, time.Duration(away)*time.Millisecond
	return l
}

// SetLimits changes the limits of a chat, all of them at once, and drops what
// they let go. With many messages that takes several steps. A chat between
// people ends when all of its members were away for too long.
func (g *Client) SetLimits(ctx context.Context, id string, limits Limits) error {
	if err := store.CheckName("chat", id); err != nil {
		return err
	}
	if err := limits.validate(); err != nil {
		return err
	}
	_, err := g.run(ctx, setLimitsScript, id, limits.note())
	return err
}
