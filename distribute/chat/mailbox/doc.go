// Package mailbox has boxes of messages that wait for one receiver.
//
// A mailbox is one receiver's list of messages that wait to be read. It begins
// with the first message sent to it; one that nobody has sent to is empty. Its
// messages have ids 1, 2, 3… without gaps, and leave it one by one, in any
// order, when they are acknowledged.
//
//	m := mailbox.NewClient(db)
//	id, err := m.Send(ctx, "bob", "ann", chat.Text("call me"))
//
//	err = m.Wait(ctx, "bob", 0)                 // blocks until something is unread
//	messages, err := m.Read(ctx, "bob", 0, 0)   // changes nothing
//	n, err := m.Ack(ctx, "bob", messages[0].ID) // dealt with
//
// What it promises:
//
//   - Nothing is lost by a crash: a message stays unread until it is
//     acknowledged. [Client.Take] is for those who can bear a loss: it removes
//     what it reads, each message for one taker.
//   - A box is bounded, in messages and in bytes. A full one refuses, with an
//     error that tells how many wait and when the receiver was last here, or
//     drops its oldest. The limits are kept in the box, for all senders.
//   - What became of a message can be asked, for each that is unread, was read
//     after the last one dropped, or is among the last thousand dropped.
//   - Every call but Send and Take can be repeated, and is, when its answer was
//     lost. Send then tells: *skidway.OutcomeUnknownError. Take tells too, and
//     gives the messages that it may have removed.
//   - Ids begin again with 1 when the box was deleted, or expired because it was
//     idle: it does so only if it was told to.
//   - Whatever somebody else wrote into the log is reported as [chat.Message].Err,
//     hides nothing else, and can be acknowledged.
//
// States of a message:
//
//	         Send            Ack, Take
//	notsent ──────▶ unread ─────────────▶ read ───────────────┐
//	                  │                                       │  a thousand later
//	                  └─────────────────▶ dropped ────────────┴─▶ ones were dropped: gone
//	                   Send to a full box,
//	                   SetLimits, Keep
//
// Keys:
//
//	mail:{BOX}          hash    v (format version, 1), last (id), born (µs), seen (ms of the receiver's last visit),
//	                            messages, bytes, full, idle (the limits), held (bytes of big bodies), forgotten (id)
//	mail:{BOX}:log      stream  entry N-0 is message N, while it is unread: sender, body, time (ms), type, url
//	mail:{BOX}:dropped  zset    the newest 1,000 ids that were dropped unread; forgotten is the highest one before them
//	mail:{BOX}:big      zset    'id-bytes' of the unread messages with a body above 1 KiB
//
// What the calls cost, and why, is in docs/messaging.md.
package mailbox
