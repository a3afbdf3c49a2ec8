// Package conversation has the histories of two people each.
//
// A conversation is the one history of two people, whichever of them is named
// first. It begins with the first message. Ids are 1, 2, 3… for both together.
// What one sent is unread for the other until that acknowledges it.
//
//	c := conversation.NewClient(db, nil)
//	sent, err := c.Send(ctx, "ann", "bob", chat.Text("noon?"))   // sent.Notify: bob is not looking
//	err = c.Wait(ctx, "bob")                                      // blocks until something is unread
//	page, err := c.Read(ctx, "bob", "ann", 0)                     // page.Messages, .Unread, .Total; acknowledged
//	page, err = c.History(ctx, "bob", "ann", &conversation.HistoryOptions{Before: 57})
//	all, err := c.Unread(ctx, "bob")                              // every conversation of bob
//
// What it promises:
//
//   - Read gives each message once, in order, with the number of unread messages
//     and of all ever sent, and acknowledges in the same step. Its answer can be
//     lost without a loss: the repeated call gives the same page, for a minute,
//     unless other readers of the same person read 32 pages meanwhile. A reader
//     that crashes after Read has read it; [Client.Peek] and
//     [Client.Ack] leave it unread until then.
//   - Unread is exact under any interleaving: what the peer sent, less what of that
//     was acknowledged. Each message carries how many both had sent by then, so
//     that this holds for an acknowledgement of any message, and with entries
//     between them that somebody added by hand.
//   - Own messages are never unread. Who sends while nothing is unread has read
//     its own message.
//   - Presence silences notices ([Sent].Notify) and nothing else. It expires by
//     itself, by the clock of Redis, and lives with the pair.
//   - After Keep messages (10,000) the oldest that both have read are dropped, at
//     most 500 a Send. MaxUnread messages (10,000) may wait for one person; then
//     Send is [chat.ErrFull]. It is that too when Keep+MaxUnread messages are there
//     because the sender itself does not read. So a conversation has at most
//     Keep+2*MaxUnread messages of at most 64 KiB. Each sender gives its own
//     [Config]: nothing of it is kept in Redis, the last sender's counts.
//   - Every call but Send can be repeated, and is, when its answer was lost.
//
// States of a pair:
//
//	       Send              Delete
//	(none) ─────▶ history ───────────▶ (none)
//	       Present           expires
//	(none) ─────▶ presence ──────────▶ (none)     becomes a history with the first Send
//
// Keys:
//
//	dm:{A/B}             hash    v (1), last id, oldest kept id, at (ms of the newest), listed,
//	                             and for the first and second of the pair, in order of their
//	                             names: sent1 sent2 (messages ever), cursor1 cursor2 (last id
//	                             acknowledged), read1 read2 (the peer's messages that were),
//	                             here1 here2 (ms until which that one is present),
//	                             reads1 reads2 (the last 32 reads, to be repeated)
//	dm:{A/B}:log         stream  entry N-0 is message N: sender, body, time (ms), type, url,
//	                             sent1 and sent2 as they were then
//	person:{NAME}:peers  zset    peer → when this was written (ms)
//	person:{NAME}:wake   stream  the last change of the list, for a minute
//
// A and B are the two names in order; '%' and '/' in them are %25 and %2F. The
// hash is the truth and the lists only an index: both are written before the first
// message, which is refused when that took longer than 30 s, so that no list can
// have forgotten it.
//
// What the calls cost, and why, is in docs/messaging.md.
package conversation
