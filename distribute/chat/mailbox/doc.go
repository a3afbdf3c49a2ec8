// Package mailbox has boxes of messages that wait for one receiver.
//
// A box begins with the first message that is sent to it. Its messages have the ids
// 1, 2, 3… without gaps, and are removed one by one, in any order, when they are
// acknowledged.
//
//	m := mailbox.NewClient(db)
//	id, err := m.Send(ctx, "bob", "ann", chat.Text("call me"))
//
//	err = m.Wait(ctx, "bob", 0)                 // blocks until a message is unread
//	messages, err := m.Read(ctx, "bob", 0, 0)   // changes nothing
//	n, err := m.AckMessages(ctx, "bob", messages)
//
// # Promises
//
//   - Nothing is lost by a crash: a message stays unread until it is
//     acknowledged. [Client.Take] may lose messages in a crash: it removes what it
//     reads, and each message goes to one of several takers.
//   - A box is bounded, in messages and in bytes. A full box refuses a message,
//     with a [FullError], or drops its oldest ones. The limits are stored in the
//     box, for all senders.
//   - [Client.Status] returns the state of each message that is unread, was read
//     after the last dropped one, or is one of the last thousand dropped ones.
//   - Every call but Send and Take is repeated when its reply was lost. These two
//     return a *skidway.OutcomeUnknownError instead, Take also the messages that
//     it may have removed.
//   - Ids begin again with 1 after the box was deleted, or expired by its limit
//     Idle. [Client.AckMessages] leaves the messages of the new box unread.
//   - Foreign data in the log is reported as [chat.Message].Err, does not affect
//     other messages, and can be acknowledged.
//
// # States of a message
//
//	         Send            Ack, Take
//	notsent ──────▶ unread ─────────────▶ read ───────────────┐
//	                  │                                       │  a thousand later
//	                  └─────────────────▶ dropped ────────────┴─▶ ones were dropped: gone
//	                   Send to a full box,
//	                   SetLimits, Keep
//
// What the calls cost, and why, is in docs/messaging.md. The keys in Redis are listed
// in mailbox.go.
package mailbox
