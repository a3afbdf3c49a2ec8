// Package chat sends messages that wait for their readers. The receiver pulls,
// at its own pace, and misses nothing that was sent while it was away.
//
// # Group
//
// A [Group] chat has many members. Its messages have ids 1, 2, 3… without
// gaps, given in one atomic step, and every member has a cursor: the id of the
// last message that it has dealt with. What comes after is pending for it.
//
//	g := chat.NewGroup(db)
//	err := g.Create(ctx, "lunch", chat.CreateOptions{Members: []string{"ann", "bob"}})
//	id, err := g.Send(ctx, "lunch", "ann", []byte("noon?"))
//
//	err = g.Wait(ctx, "bob")                                   // blocks until something is pending
//	messages, err := g.Pending(ctx, "lunch", "bob", 0, 0)      // changes nothing
//	cursor, err := g.Ack(ctx, "lunch", "bob", messages[0].ID)  // dealt with
//
// What it promises:
//
//   - Nothing is lost by a crash: a message stays pending until it is
//     acknowledged, and is delivered again until then.
//   - A message is deleted when every member has dealt with it, not before. A
//     channel without members keeps all. So one slow member keeps everything
//     after its cursor; [Group.Members] tells who, [Group.Leave] ends it.
//   - A cursor never moves back. Acknowledging a message that does not exist
//     yet is refused.
//   - A member that sends while nothing is unread has read its own message.
//   - Every call but [Group.Send] can be repeated, and is, when its answer was
//     lost. Send then tells: *skidway.OutcomeUnknownError.
//   - Whatever somebody else wrote into these keys is reported, as
//     [Message].Err or [Batch].Err, and hides nothing else.
//
// # States of a chat
//
//	            Create              last member leaves
//	(none) ──────────────▶ people ─────────────────────▶ (none)
//	            Create               Delete
//	(none) ──────────────▶ channel ────────────────────▶ (none)
//
// Delete also ends a chat between people. An id can be used again.
//
// # Keys
//
// Every key starts with the prefix of the [Group]'s database; braces are hash
// tags, so that a chat lies on one slot of a Redis Cluster, and so does a
// member's list. Names are 1 to 200 bytes of UTF-8 without control characters
// and without braces.
//
//	chat:{ID}            hash    v (format version, 1), kind, last and oldest id, created (ms), token (of the creation)
//	chat:{ID}:log        stream  entry N-0 is message N: sender, body, time (ms)
//	chat:{ID}:cursors    zset    member → id of the last message dealt with
//	member:{NAME}:chats  zset    chat → when this was written (ms)
//	member:{NAME}:wake   stream  the last change of the list, for a minute
//
// The membership in the chat is the truth, a member's list only an index: it is
// written before and again after the membership, and an entry that the chat
// denies is dropped, but only when it is older than a minute.
//
// # What it costs
//
//	Send, Ack      one script; the same for 2 members and for 10,000
//	Pending        one script, and one XRANGE for the first 4, next 8, 16, 32, 64, 64… messages
//	Fetch          Pending, Ack
//	PendingAll     one script for the list, and a Pending for each chat, 16 at a time
//	Wait           PendingAll of one message each, then one blocked XREAD (in a Cluster, one for each chat)
//	Join           three scripts
//	Leave          two or three scripts
//	Create         one script, and two for each member
//	Members        one script for each 500
//	Info, Delete   one script
//
// A message of 100 bytes takes 150 bytes of Redis, whatever the number of
// members; a cursor takes 14 bytes among 100 members and 113 among 10,000
// (go test -bench Send).
// Cleaning goes in steps of 500 messages, so Ack and Leave take one script more
// for each 500 that they set free.
package chat
