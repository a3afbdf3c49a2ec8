// Package room has places that people enter and leave.
//
// A room is a named place that people enter and leave. It ends by itself.
//
//	r := room.NewClient(db)
//	err := r.Create(ctx, "lobby", &room.CreateOptions{TTL: time.Hour, Owner: "ann"})
//	ann, err := r.Enter(ctx, "lobby", &room.EnterOptions{ID: "ann", Nick: "Annie"})
//	id, err := r.Send(ctx, ann, chat.Text("hello"))
//
//	news, err := r.Read(ctx, ann, 0, 0)              // messages, what was taken back, time to live,
//	news, err = r.Read(ctx, ann, news.Position, 0)   // people inside, settings: one round trip
//	err = r.Wait(ctx, ann, news.Position)            // blocks until something comes after that
//
// What it promises:
//
//   - A room ends when nobody spoke for its time to live. Only [Client.Send] starts
//     that time anew (and [Client.Set], when it sets another). That nobody is inside
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
//     by default, each of at most 64 KiB. [Page].Oldest tells a reader what it
//     missed.
//   - Every call but [Client.Send] can be repeated, and is, when its answer was lost.
//     Send then tells: *skidway.OutcomeUnknownError.
//   - What somebody else wrote into these keys is reported, as [chat.Message].Err or
//     *[chat.CorruptError], and hides nothing else.
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
// What the calls cost, and why, is in docs/messaging.md.
package room
