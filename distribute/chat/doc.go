// Package chat sends messages that wait for their readers. The receiver pulls,
// at its own pace, and misses nothing that was sent while it was away. There are
// four structures, for as many ways in which people talk:
//
//	               between                  a call takes                     guarantee
//	[Group]        many members             Send, Ack: one script, however   each member gets each message, in
//	                                        many members; all chats of a     order, until it acknowledges; gone
//	                                        member: a round trip a hundred   when all have, or by limits
//	[Mailbox]      senders and one          Send: one script; Read: two      each message waits for its receiver
//	               receiver                 commands; Ack: one a hundred     until it acknowledges; bounded
//	[Conversation] two people               Send, Read, Ack, History: one    one history; counts of unread
//	                                        script; Unread of all: a round   messages exact under any
//	                                        trip a hundred                   interleaving; bounded
//	[Room]         whoever is in a place    one script for nearly every      all see the same, in order, and who
//	                                        call                             took back what; it ends by itself
//
// Every operation on one chat, box, pair or room is one atomic step on one slot of
// a Redis Cluster, and takes no lock. Waiting is a blocked read, which costs Redis
// nothing; what is delivered is always read by a script that looks first.
//
// A message has a [Content]: a body, a type and a URL. What is too big for a message
// lies elsewhere, and the message says where.
//
// Names are 1 to 200 bytes of UTF-8 without control characters and without braces.
// They are claims: whoever can use the Redis can speak as anybody. Every key starts
// with the prefix of the database; braces in keys are hash tags. Times are
// milliseconds of Redis's clock.
//
// # Group
//
// A [Group] chat has many members. Its messages have ids 1, 2, 3… without
// gaps, given in one atomic step and exact to 2^53, and every member has a
// cursor: the id of the last message that it has dealt with. What comes after is
// pending for it.
//
//	g := chat.NewGroup(db)
//	id, err := g.Create(ctx, "lunch", chat.CreateOptions{Members: []string{"ann", "bob"}})
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
//     everything after its cursor; [Group.Members] tells who and when it was
//     last here, [Group.Drop] ends it, [Limits].Away ends it by itself.
//   - Limits hold for every read: what they let go is not read any more, even if
//     nothing was sent since. Who had not read it sees a jump in the ids, and
//     [Member].Missed counts.
//   - A cursor never moves back. Acknowledging a message that does not exist
//     yet is refused.
//   - A member that sends while nothing is unread has read its own message.
//   - Every call but [Group.Send] can be repeated, and is, when its answer was
//     lost. Send then tells: *skidway.OutcomeUnknownError.
//   - Whatever somebody else wrote into these keys is reported, as
//     [Message].Err, [Batch].Err or [Membership].Err, and hides nothing else.
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
// The membership in the chat is the truth, a member's list only an index: it is
// written before and again after the membership, and an entry that the chat
// denies is dropped, but only when it is older than a minute.
//
// What it costs:
//
//	Send, Ack         one script; the same for 2 members and for 10,000
//	Pending           one script, and one XRANGE for the first 4, next 8, 16, 32, 64, 64… messages
//	Fetch             Pending, Ack
//	PendingAll        one script for the list, then one round trip for each 100 chats (in a Cluster, for each node);
//	                  a Pending for each chat with messages above 16 KiB
//	Unread            one script for the list, then one round trip for each 100 chats
//	Wait, WaitAfter   PendingAll of one message each, then one blocked XREAD (in a Cluster, one for each
//	                  of at most 50 chats; the others are looked at every 5 s)
//	WaitIn            one script, then one blocked XREAD
//	Join              three scripts
//	Leave, Drop       two or three scripts
//	Create            one script, two round trips for each 100 members, and an INCR if it chooses the id
//	Members           one script for each 500
//	Info, SetLimits   one script
//	Delete            one script
//
// Deleting goes in steps of 500 messages and dropping in steps of 100 members, so
// a call takes one script more for each 500 or 100 that it sets free.
//
// Beside a Redis Stream per chat with a consumer group per member ("skidway bench
// chat" on 2 cores with Redis 7.0.15, messages of 100 bytes, 16 senders, pages of
// 100 that are read and acknowledged):
//
//	                           members    Group   Stream
//	bytes a message                 any     155      137
//	bytes a member                    2     136      765
//	                                100      35      564
//	                             10,000     213      562
//	bytes more a message and member
//	that has read it, not acknowledged        0      578
//	sent/s                            2  14,903   57,998
//	                             10,000  26,228   53,383
//	read and acknowledged/s           2 100,287  229,915
//	                             10,000 130,143  214,376
//
// The Stream checks no sender and deletes nothing that all have read. Acknowledged
// messages cost it nothing per member; those in flight cost most of all.
//
// # Mailbox
//
// A [Mailbox] is one receiver's list of messages that wait to be read. It begins
// with the first message sent to it; one that nobody has sent to is empty. Its
// messages have ids 1, 2, 3… without gaps, and leave it one by one, in any
// order, when they are acknowledged.
//
//	m := chat.NewMailbox(db)
//	id, err := m.Send(ctx, "bob", "ann", chat.Text("call me"))
//
//	err = m.Wait(ctx, "bob", 0)                 // blocks until something is unread
//	messages, err := m.Read(ctx, "bob", 0, 0)   // changes nothing
//	n, err := m.Ack(ctx, "bob", messages[0].ID) // dealt with
//
// What it promises:
//
//   - Nothing is lost by a crash: a message stays unread until it is
//     acknowledged. [Mailbox.Take] is for those who can bear a loss: it removes
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
//   - Whatever somebody else wrote into the log is reported as [Message].Err,
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
// No script reads the body of a message sent here that has more than 1 KiB: it
// would copy it, 3 ms for 1 MiB. So bodies are read by XRANGE, big ones are
// listed with their size, and every other counts as 1 KiB.
//
// What it costs:
//
//	Send                        one script; to a box that drops, one more for each 50 beyond its limits
//	Read                        one script, and one XRANGE for each 64 messages; among big ones for the first 4, next 8, 16…
//	Newest, ReadOne             one script, and XREVRANGE or XRANGE in the same way
//	Ack                         one script for each 100
//	Take                        Read, and one script
//	Wait                        one script, then one blocked XREAD
//	Info                        one script, and one XRANGE
//	Count, Status, Delete       one script
//	Keep, SetLimits             one script, and one more for each 50 that are dropped
//
// Measured (go test -bench Mailbox, 2 shared cores): a send of 100 bytes 0.12 ms and 145 bytes of Redis; read and
// acknowledged in pages of 100, 0.011 ms a message. The longest scripts, with their round trip: 100 acknowledged 0.4 ms
// (bodies of 10 KiB: 0.9 ms), 50 dropped 0.6 ms (0.9 ms).
//
// # Conversation
//
// A [Conversation] is the one history of two people, whichever of them is named
// first. It begins with the first message. Ids are 1, 2, 3… for both together.
// What one sent is unread for the other until that acknowledges it.
//
//	c := chat.NewConversation(db, chat.ConversationConfig{})
//	sent, err := c.Send(ctx, "ann", "bob", chat.Text("noon?"))   // sent.Notify: bob is not looking
//	err = c.Wait(ctx, "bob")                                      // blocks until something is unread
//	page, err := c.Read(ctx, "bob", "ann", 0)                     // page.Messages, .Unread, .Total; acknowledged
//	page, err = c.History(ctx, "bob", "ann", chat.HistoryPage{Before: 57})
//	all, err := c.Unread(ctx, "bob")                              // every conversation of bob
//
// What it promises:
//
//   - Read gives each message once, in order, with the number of unread messages
//     and of all ever sent, and acknowledges in the same step. Its answer can be
//     lost without a loss: the repeated call gives the same page, for a minute,
//     unless other readers of the same person read 32 pages meanwhile. A reader
//     that crashes after Read has read it; [Conversation.Peek] and
//     [Conversation.Ack] leave it unread until then.
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
//     Send is [ErrFull]. It is that too when Keep+MaxUnread messages are there
//     because the sender itself does not read. So a conversation has at most
//     Keep+2*MaxUnread messages of at most 64 KiB. Each sender gives its own
//     [ConversationConfig]: nothing of it is kept in Redis, the last sender's counts.
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
// What it costs:
//
//	Send               one script; the first of a conversation two, and four to list it
//	Read, Peek         one script a page, of up to 200 messages or about 64 KiB; one more for
//	                   each 200 own messages that lie between
//	Ack, History, Present, PresentUntil, Delete   one script
//	Unread             one script for each 500 of the list, one round trip for each 100
//	Wait               Unread, then one blocked XREAD (in a Cluster, one for each of at most
//	                   50 conversations; the others are looked at every 5 s)
//	WaitFrom           one script, then one blocked XREAD
//
// The first Send of a conversation writes the two lists before and, to wake who
// waits, after it.
//
// A message of 100 bytes takes 155 bytes of Redis, a read in pages of 100 a tenth of a send (go test -bench Conversation).
//
// # Room
//
// A [Room] is a named place that people enter and leave. It ends by itself.
//
//	r := chat.NewRoom(db)
//	err := r.Create(ctx, "lobby", chat.RoomOptions{TTL: time.Hour, Owner: "ann"})
//	ann, err := r.Enter(ctx, "lobby", chat.EnterOptions{ID: "ann", Nick: "Annie"})
//	id, err := r.Send(ctx, ann, chat.Text("hello"))
//
//	news, err := r.Read(ctx, ann, 0, 0)              // messages, what was taken back, time to live,
//	news, err = r.Read(ctx, ann, news.Position, 0)   // people inside, settings: one round trip
//	err = r.Wait(ctx, ann, news.Position)            // blocks until something comes after that
//
// What it promises:
//
//   - A room ends when nobody spoke for its time to live. Only [Room.Send] starts
//     that time anew (and [Room.Set], when it sets another). That nobody is inside
//     ends nothing. All keys of a room end at the same moment.
//   - Everybody inside has an id that nobody else has inside, until it leaves, or
//     neither sends nor reads (Read, History, Resource, Wait) for the room's
//     presence.
//   - Positions 1, 2, 3… are given without gaps, in one atomic step, to messages and
//     to notices that a message was taken back. Each reader says after which position
//     it wants to read, so each sees each message once, in order, and may read again.
//   - A message that was taken back is in no page any more. Whoever has read it
//     finds the notice after its position; the notice says who took it back.
//   - The newest messages and notices are kept, as many as the room was told to, 1,000
//     by default, each of at most 64 KiB. [News].Oldest tells a reader what it
//     missed.
//   - Every call but [Room.Send] can be repeated, and is, when its answer was lost.
//     Send then tells: *skidway.OutcomeUnknownError.
//   - What somebody else wrote into these keys is reported, as [Message].Err or
//     *[CorruptError], and hides nothing else.
//
// Who may what. Reading and sending is for those inside, who are not muted if they
// send. Changing settings, muting, deleting, and taking back others' messages is for
// the owner, inside or not; where there is no owner, for everybody inside who is
// not muted; and for operators: a [Pass] without an ID. Names are claims: whoever
// can use the Redis can act as anybody.
//
// A password keeps out those who can use the program but not the Redis. The client
// turns it once, in [Room.Enter], into a key: PBKDF2 with HMAC-SHA-256, 600,000
// rounds, 16 random bytes of salt, a fifth of a second. The [Pass] carries the key,
// and every script compares its SHA-1 with the one in the room; the key has 256 bits
// that nobody can guess, so that digest needs no strength but that it cannot be
// turned back. Redis never holds the password or the key. A wrong password is told as a
// room that does not exist, after the same work: one slow hash and two commands.
// A new password lets out everybody but who set it.
//
// States:
//
//	        Create              nobody spoke for its TTL, or Delete
//	(none) ────────▶ the room ──────────────────────────────────────▶ (none)
//
//	          Enter                    Leave, or silent for the presence
//	outside ─────────▶ inside ───────────────────────────────────────────▶ outside
//
// Keys:
//
//	room:{NAME}         hash    v (format version, 1), last, trimmed and newest big position, created and dies (ms),
//	                            ttl and presence (ms), max, keep, owner, digest, salt and rounds of the password,
//	                            token (of the creation), changed (token of the last Set);
//	                            gone (token) for a minute after Delete
//	room:{NAME}:log     stream  entry N-0 is message N: sender, body, time (ms), type, url, nick;
//	                            or the notice of one: retracts, by, time (ms)
//	room:{NAME}:people  zset    id → until when it is inside (ms)
//	room:{NAME}:nicks   hash    id → token of the entering, space, nickname
//	room:{NAME}:mutes   zset    id → until when it is muted (ms); 2^53 - 1: for good
//
// What it costs:
//
//	Send, Read, History, Resource, Leave,
//	Info, Set, Mute, Unmute, Retract, Delete   one script
//	Create                                     one script; with a password, one slow hash
//	Enter                                      one script; with a password, one HMGET and one slow hash, too
//	People                                     two scripts, and one more for each further 200
//	Wait                                       a Read of one, and one blocked XREAD, every 5 seconds or a
//	                                           third of the presence
//
// A Send takes the same for 2 people and for 10,000 (go test -bench RoomSend); a
// message of 100 bytes takes 149 bytes of Redis, a person 192 among 10,000.
// A page that is full of small messages ends at 64 KiB.
package chat
