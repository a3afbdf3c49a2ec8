// Package group has chats of many members.
//
// A group chat has many members. Its messages have ids 1, 2, 3… without
// gaps, given in one atomic step and exact to 2^53, and every member has a
// cursor: the id of the last message that it has dealt with. What comes after is
// pending for it.
//
//	g := group.NewClient(db)
//	id, err := g.Create(ctx, "lunch", &group.CreateOptions{Members: []string{"ann", "bob"}})
//	n, err := g.Send(ctx, "lunch", "ann", chat.Text("noon?"))
//
//	err = g.Wait(ctx, "bob")                                   // blocks until something is pending
//	messages, err := g.Pending(ctx, "lunch", "bob", 0, 0)      // changes nothing
//	cursor, err := g.Ack(ctx, "lunch", "bob", messages[0].ID)  // dealt with
//
// What it promises:
//
//   - Nothing is lost by a crash: a message stays pending until it is
//     acknowledged, and is delivered again until then.
//   - A message is deleted when every member has dealt with it, in whatever
//     order they do, and not before, unless the chat has [Limits]. A channel
//     without members keeps all. So without limits one slow member keeps
//     everything after its cursor; [Client.Members] tells who and when it was
//     last here, [Client.Drop] ends it, [Limits].Away ends it by itself.
//   - Limits hold for every read: what they let go is not read any more, even if
//     nothing was sent since. Who had not read it sees a jump in the ids, and
//     [Member].Missed counts.
//   - A cursor never moves back. Acknowledging a message that does not exist
//     yet is refused.
//   - A member that sends while nothing is unread has read its own message.
//   - Every call but [Client.Send] can be repeated, and is, when its answer was
//     lost. Send then tells: *skidway.OutcomeUnknownError.
//   - Whatever somebody else wrote into these keys is reported, as
//     [chat.Message].Err, [Batch].Err or [Membership].Err, and hides nothing else.
//
// States of a group chat:
//
//	            Create              last member leaves, is dropped or away for too long
//	(none) ──────────────▶ people ─────────────────────▶ (none)
//	            Create               Delete
//	(none) ──────────────▶ channel ────────────────────▶ (none)
//
// Delete also ends a chat between people. An id can be used again.
//
// Keys of a group chat:
//
//	chat:{ID}            hash    v (format version, 1), kind, last and oldest id, created (ms), token (of the creation),
//	                             big (id of the newest message above 16 KiB), sent (bytes of all messages ever),
//	                             limits ("messages bytes age-ms away-ms"), first ("id before time" of the oldest
//	                             message, once it was a big one and limits asked)
//	chat:{ID}:log        stream  entry N-0 is message N: sender, body, time (ms), type, url,
//	                             before (bytes of all messages before it)
//	chat:{ID}:cursors    zset    member → id of the last message dealt with
//	chat:{ID}:seen       zset    member → when it was last here (ms), written at most once a second
//	{chats}:last         string  the last number that was given as an id
//	member:{NAME}:chats  zset    chat → when this was written (ms)
//	member:{NAME}:wake   stream  the last change of the list, for a minute
//
// What the calls cost, and why, is in docs/messaging.md.
package group
