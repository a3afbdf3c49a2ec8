// Package group has chats of many members.
//
// The messages of a chat have the ids 1, 2, 3… without gaps, and every member has a
// cursor: the id of the last message that it has acknowledged. Later messages are
// pending for it.
//
//	g := group.NewClient(db)
//	id, err := g.Create(ctx, "lunch", &group.CreateOptions{Members: []string{"ann", "bob"}})
//	n, err := g.Send(ctx, "lunch", "ann", chat.Text("noon?"))
//
//	err = g.Wait(ctx, "bob")                                   // blocks until a message is pending
//	messages, err := g.Pending(ctx, "lunch", "bob", 0, 0)      // changes nothing
//	cursor, err := g.Ack(ctx, "lunch", "bob", messages[0].ID)
//
// # Promises
//
//   - Nothing is lost by a crash: a message stays pending until it is
//     acknowledged, and is delivered again until then.
//   - A message is deleted when every member has acknowledged it, and not before,
//     unless the chat has [Limits]. A channel without members keeps all. So
//     without limits one slow member keeps everything after its cursor:
//     [Client.Members] returns its last visit, [Client.Leave] removes it, and
//     [Limits].Away does so automatically.
//   - Limits apply to every read: dropped messages are not read any more, even if
//     nothing was sent since. A member that had not read them sees a jump in the
//     ids, counted in [Member].Missed.
//   - A cursor never moves back. Acknowledging a message that does not exist
//     yet is refused.
//   - If a member that sends has no unread messages, its own one counts as read.
//   - Every call but [Client.Send] is repeated when its reply was lost. Send
//     returns a *skidway.OutcomeUnknownError instead.
//   - Foreign data in these keys is reported as [chat.Message].Err, [Batch].Err or
//     [Membership].Err, and does not affect other messages.
//
// # States
//
//	            Create              last member leaves, is dropped or away for too long
//	(none) ──────────────▶ people ─────────────────────▶ (none)
//	            Create               Delete
//	(none) ──────────────▶ channel ────────────────────▶ (none)
//
// Delete also ends a chat between people. An id can be used again.
//
// What the calls cost, and why, is in docs/messaging.md. The keys in Redis are listed
// in group.go.
package group
