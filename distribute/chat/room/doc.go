// Package room has places that people enter and leave, and that end by themselves.
//
//	r := room.NewClient(db)
//	err := r.Create(ctx, "lobby", &room.CreateOptions{TTL: time.Hour, Owner: "ann"})
//	ann, err := r.Enter(ctx, "lobby", &room.EnterOptions{ID: "ann", Nick: "Annie"})
//	id, err := r.Send(ctx, ann, chat.Text("hello"))
//
//	page, err := r.Read(ctx, ann, 0, 0)              // messages, retractions, time to live,
//	page, err = r.Read(ctx, ann, page.Position, 0)   // people inside, settings: one round trip
//	err = r.Wait(ctx, ann, page.Position)            // blocks until a later message
//
// # Promises
//
//   - A room ends when its time to live has passed since the last message. Only
//     [Client.Send] starts that time again, and [Client.Set] with a new one. A room
//     does not end because it is empty. All its keys expire at the same moment.
//   - A person inside has an id that is unique in the room, until it leaves, or
//     neither sends nor reads (Read, History, Wait) for the room's
//     presence time.
//   - Messages and retractions have positions 1, 2, 3… without gaps. Each reader
//     chooses the position after which it reads, so it reads each message once, in
//     order, and may read again.
//   - A retracted message is in no page any more. A reader that has read it finds
//     the [Retraction] at a later position, with the name of the person who
//     retracted it.
//   - The newest messages and retractions are kept, 1,000 by default, each of at
//     most 64 KiB. [Page].Oldest shows a reader what it missed.
//   - Every call but [Client.Send] is repeated when its reply was lost. Send returns
//     a *skidway.OutcomeUnknownError instead.
//   - Foreign data in these keys is reported as [chat.Message].Err or
//     *[chat.CorruptError], and does not affect other messages.
//
// # States
//
//	        Create              no message for its TTL, or Delete
//	(none) ────────▶ the room ──────────────────────────────────────▶ (none)
//
//	          Enter                    Leave, or silent for the presence
//	outside ─────────▶ inside ───────────────────────────────────────────▶ outside
//
// What the calls cost, and why, is in docs/messaging.md. The keys in Redis are listed
// in room.go.
package room
