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
//   - Read returns each message once, in order, with the number of unread messages
//     and of all ever sent, and acknowledges in the same step. If its reply is
//     lost, the repeated call returns the same page, for a minute, unless other
//     readers of the same person read 32 pages meanwhile. If a reader crashes after
//     Read, its messages count as read; with [Client.Peek] and [Client.Ack] they
//     stay unread until Ack.
//   - The number of unread messages is exact under any interleaving: those that the
//     peer sent, less those that were acknowledged. Each message records how many
//     both had sent by then, so this holds for an acknowledgement of any message,
//     and with foreign entries between them.
//   - A person's own messages are never unread. If a sender has no unread
//     messages, its own one counts as read.
//   - Presence affects [Sent].Notify and nothing else. It expires by the clock of
//     Redis, and is deleted with the pair.
//   - Beyond Keep messages (10,000) the oldest that both have read are dropped, at
//     most 500 with a Send. If MaxUnread messages (10,000) are unread for the
//     receiver, Send returns [chat.ErrFull]; also if there are Keep+MaxUnread
//     messages because the sender itself does not read. So a conversation has at
//     most Keep+2*MaxUnread messages of at most 64 KiB. The [Config] is not stored
//     in Redis: each Send applies that of its client.
//   - Every call but Send is repeated when its reply was lost.
//
// # States of a pair
//
//	       Send              Delete
//	(none) ─────▶ history ───────────▶ (none)
//	       Present           expires
//	(none) ─────▶ presence ──────────▶ (none)     becomes a history with the first Send
//
// # Keys
//
//	dm:{A/B}             hash    v (1), last id, oldest kept id, at (ms of the newest), listed,
//	                             and for the first and second of the pair, in order of their
//	                             names: sent1 sent2 (messages ever), cursor1 cursor2 (last id
//	                             acknowledged), read1 read2 (the peer's acknowledged messages),
//	                             here1 here2 (end of the presence, ms),
//	                             reads1 reads2 (the last 32 reads, for repeated calls)
//	dm:{A/B}:log         stream  entry N-0 is message N: sender, body, time (ms), type, url,
//	                             sent1 and sent2 as they were then
//	person:{NAME}:peers  zset    peer → when this was written (ms)
//	person:{NAME}:wake   stream  the last change of the list, for a minute
//
// A and B are the two names in order; '%' and '/' in them are %25 and %2F. The
// lists are an index of the hashes: both are written before the first message,
// which is refused if that took longer than 30 s, so that it is in both lists.
//
// What the calls cost, and why, is in docs/messaging.md.
package conversation
