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
//     shippers and workers are killed at any moment and replies are lost. Its
//     counts and the mark that a file is counted change in one script.
//   - A file that is shipped again (renamed, rotated, compressed in another way,
//     grown) is recognised by its content: only its new lines are counted.
//   - The files of a channel never use more memory in Redis than its window. A
//     shipper waits while the window is full; shippers are served in order.
//   - Once the lease of a dead process has expired, its claim or upload can be taken
//     over: another worker claims the file, or any process ends the upload, so that
//     the file can be shipped again. Leases use the clock of Redis.
//   - A script whose reply was lost is called again, which changes nothing.
//   - Scripts reject writes made under a claim that has ended or been replaced. An
//     expired claim remains usable until another worker takes the file.
//
// Limits, for now: a shipment must fit the window as a whole. A shipment is
// committed as a whole: if a claim is lost, the next worker counts the whole
// shipment again.
//
// # States of a file
//
//	            admit             complete            the last subscriber seals it
//	no record ─────────► uploading ─────────► uploaded ────────────────────────────► done
//	                      ▲  │  ▲                                                      │
//	                      │  │  └──────────────────── (shipped again) ─────────────────┘
//	      (shipped again) │  │ its shipper fails or dies
//	                      │  ▼
//	                    abandoned
//
// When a subscriber is removed, the files that all others have counted become done
// too. Each shipment has a number, which is part of the names of its segments: late
// writes of a dead shipment can't change the next one. The segments of a file that
// is done or abandoned are freed at once, or by the next sweep of any process.
//
// # How counts become valid
//
// A commit makes the counts of one shipment visible to reports. A count is a set of
// cells: numbers identified by group and member. Commit stages the cells in batches,
// then seals them in one script. Folding follows the commit and does not change any
// report.
//
// A worker counts in memory. It stages the cells in a hash that no report reads. The
// seal checks the claim, renames that hash, records how far the file is counted,
// adds to the subscriber's sums and ends the claim. The worker then folds the sealed
// cells into the totals of their groups, in batches. Reports read totals and sealed
// cells together, and any process can finish a fold.
//
// # Keys
//
// All keys begin with the prefix and logs:{CHANNEL}, so a channel lies on one slot.
// Only the list of batches, logs:batches, belongs to no channel.
//
//	(no suffix)                  hash    v, turn, window and used in bytes, shipments (number of shippers ever registered)
//	:wake                        stream  one entry: the last change
//	:heads                       hash    digest of the first line → ids of files
//	:files                       zset    file → last change, ms
//	:file:ID                     hash    the record of a file; fields FIELD:SUBSCRIBER
//	:open                        zset    file in Redis → time it was admitted, ms
//	:uploads                     zset    file being uploaded → lease expiry, ms
//	:spent                       set     files whose segments are to be freed
//	:abandoned                   zset    abandoned file → time, ms
//	:segment:ID:SHIPMENT:N       string  a piece of a file
//	:wake:ID:SHIPMENT            stream  one entry, its id the bytes uploaded so far
//	:shippers                    hash    shipper → mode and host:pid
//	:leases                      zset    shipper → lease expiry, ms
//	:line                        zset    shipper that waits for the window → turn
//	:subscribers                 hash    subscriber → settings
//	:subscriber:S                hash    v, since, seen, sums, lines by country database, version (incremented on each change of counts)
//	:subscriber:S:claims         zset    file → lease expiry, ms
//	:subscriber:S:owners         hash    file → token of its claim
//	:subscriber:S:staged:ID      hash    cell → number, not valid yet
//	:subscriber:S:sealed         set     ID:SHIPMENT that are not folded yet
//	:subscriber:S:sealed:ID:SHIPMENT  hash  cell → number, valid
//	:subscriber:S:groups         zset    the groups that were counted, such as days
//	:subscriber:S:count:GROUP    zset    member → count
//	:subscriber:S:problems       set     files that were counted in part or not at all
//
// The record of a file stays for [RememberFor] after it is counted. It has up to
// 5 KB, most of it the digests by which an earlier copy is recognised. The format
// has version 1; a newer one is refused with a [VersionError].
package distribute
