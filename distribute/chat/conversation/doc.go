// Package conversation has the histories of two people each.
//
// A conversation is the history of two people, in whichever order they are named. It
// begins with the first message. Ids are 1, 2, 3… for both together. A message is
// unread for the other person until it is acknowledged.
//
//	c := conversation.NewClient(db, nil)
//	sent, err := c.Send(ctx, "ann", "bob", chat.Text("noon?"))   // sent.Notify: bob is not present
//	err = c.Wait(ctx, "bob")                                      // blocks until a message is unread
//	page, err := c.Read(ctx, "bob", "ann", 0)                     // page.Messages, .Unread, .Total; acknowledged
//	page, err = c.History(ctx, "bob", "ann", &conversation.HistoryOptions{Before: 57})
//	all, err := c.Unread(ctx, "bob")                              // every conversation of bob
//
// # Promises
//
//   - Read returns each message once, in order, and acknowledges it in the same
//     step. If a reader crashes after Read, its messages count as read; with
//     [Client.Peek] and [Client.Ack] they stay unread until Ack.
//   - The number of unread messages is exact under any interleaving: those that the
//     peer sent, less those that were acknowledged.
//   - A person's own messages are never unread. If a sender has no unread
//     messages, its own one counts as read.
//   - Presence affects [Sent].Notify and nothing else. It expires by the clock of
//     Redis, and is deleted with the pair.
//   - Beyond Keep messages (10,000) the oldest that both have read are dropped, at
//     most 500 with a Send. If MaxUnread messages (10,000) are unread for the
//     receiver, Send returns [chat.ErrFull]; also if there are Keep+MaxUnread
//     messages because the sender itself does not read. So a conversation has at
//     most Keep+2*MaxUnread messages of at most 64 KiB. See [Config].
//   - Every call but Send is repeated when its reply was lost.
//
// # States of a pair
//
//	       Send              Delete
//	(none) ─────▶ history ───────────▶ (none)
//	       Present           expires
//	(none) ─────▶ presence ──────────▶ (none)     becomes a history with the first Send
//
// What the calls cost, and why, is in docs/messaging.md. The keys in Redis are listed
// in conversation.go.
package conversation
