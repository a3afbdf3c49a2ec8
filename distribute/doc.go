// Package distribute ships log files through Redis to workers that count them,
// and adds their counts up exactly.
//
// A [Shipper] cuts log files into segments, appends them in Redis and announces
// each file in the channel's group chat. Subscribers are members of that chat, one
// for each [Aggregation]. The workers of a subscriber, in any number of processes,
// claim announced files, read, decompress and count them while they are still
// being uploaded, and commit the counts.
//
//	channel, err := distribute.Open(ctx, db, "web") // db is a *skidway.DB
//	results, err := distribute.NewShipper(channel, nil).Ship(ctx, files)
//
// and, in the same or in another process,
//
//	aggregation, err := distribute.NewCountryDay(nil)
//	worker, err := distribute.NewWorker(ctx, channel, "per-country", aggregation, &distribute.WorkerConfig{UntilDone: true})
//	result, err := worker.Work(ctx)
//	report, err := channel.Report(ctx, "per-country", nil)
//
// [Batch] does all of it in one process.
//
// # Promises
//
//   - A subscriber counts every line of every shipped file exactly once, even if
//     shippers and workers are killed at any moment and answers are lost. Its
//     counts and the mark that a file is counted change in one script.
//   - A file that is shipped again (renamed, rotated, compressed in another way,
//     grown) is recognised by its content: only its new lines are counted.
//   - The files of a channel never use more memory in Redis than its window. A
//     shipper waits while the window is full; shippers are served in order.
//   - A dead process delays the others by no more than its lease.
//   - Leases use the clock of Redis. A call whose answer was lost is repeated. A
//     script refuses the writes of a worker whose claim has expired.
//
// Limits, for now: a file must fit the window as a whole, and after a lost claim
// the file is counted again from the last commit.
//
// # States of a file
//
//	            admit              complete            every subscriber has sealed
//	(known) ─────────────► uploading ───────► uploaded ───────────────────────► done
//	   ▲                       │ its shipper fails or dies                       │
//	   │                       ▼                                                 │
//	   └── shipped again ── abandoned ◄────────── (new content) ── shipped again
//
// Each shipment has a number, which is part of the names of its segments: late
// writes of a dead shipment can't change the next one. The segments of a file that
// is done or abandoned are freed at once, or by the next sweep of any process.
//
// # How counts become valid
//
// A worker counts in memory. Then it stages the cells of its count in a hash, in
// steps. One script seals them: it checks the claim, renames the hash, records how
// far the file is counted and ends the claim. Then the worker folds the sealed
// cells into the totals; each step moves some cells. Before the seal nothing is
// valid, after it everything is: reports read totals and sealed cells together,
// and any process can finish the fold.
//
// # Keys
//
// All keys begin with the prefix and logs:{CHANNEL}, so a channel lies on one slot.
// Only the list of batches, logs:batches, belongs to no channel.
//
//	(nothing more)               hash    v, window, used (bytes), shipments, turn
//	:wake                        stream  one entry: the last change
//	:heads                       hash    digest of the first line → ids of files
//	:files                       zset    file → last change, ms
//	:file:ID                     hash    the record of a file; fields FIELD:SUBSCRIBER
//	:open                        zset    file in Redis → admitted, ms
//	:uploads                     zset    file being uploaded → lease, ms
//	:spent                       set     files to be freed
//	:abandoned                   zset    abandoned file → when, ms
//	:segment:ID:SHIPMENT:N       string  a piece of a file
//	:wake:ID:SHIPMENT            stream  one entry, its id the bytes uploaded so far
//	:shippers, :leases, :line    shippers, their leases, those that wait for the window
//	:subscribers                 hash    subscriber → settings
//	:subscriber:S                hash    totals, seen, version, lines by country database
//	:subscriber:S:claims         zset    file → lease, ms
//	:subscriber:S:owners         hash    file → claim
//	:subscriber:S:staged:ID      hash    cell → number, not valid yet
//	:subscriber:S:sealed         set     ID:SHIPMENT that are not folded yet
//	:subscriber:S:sealed:ID:SHIPMENT  hash  their cells
//	:subscriber:S:groups         zset    the days that were counted
//	:subscriber:S:count:DAY      zset    country → requests
//	:subscriber:S:problems       set     files that were counted in part or not at all
//
// The record of a file stays for [RememberFor] after it is counted. It has up to
// 5 KB, most of it the digests by which an earlier copy is recognised. The format
// has version 1; a newer one is refused with a [VersionError].
package distribute
