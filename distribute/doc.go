// Package distribute brings log files to those who count them, through Redis,
// and adds their counts up exactly.
//
// A shipper cuts log files into segments that it appends in Redis and announces
// each in the channel's group chat. Subscribers are members of the chat, one
// for each aggregation to make. The workers of a subscriber, in any number of
// processes, claim announced files, read, decompress and count them while they
// are still being uploaded, and commit what they counted.
//
//	db, err := skidway.Open(ctx, "redis://127.0.0.1:6379/0", nil)
//	channel, err := distribute.Open(ctx, db, "web")
//	results, err := distribute.NewShipper(channel, distribute.ShipperConfig{}).Ship(ctx, files)
//
// and, here or elsewhere,
//
//	aggregation, err := distribute.NewCountryDay(distribute.CountryDayConfig{})
//	worker, err := distribute.NewWorker(ctx, channel, "per-country", aggregation, distribute.WorkerConfig{UntilDone: true})
//	result, err := worker.Work(ctx)
//	report, err := channel.Report(ctx, "per-country", distribute.ReportOptions{})
//
// [Batch] does all of it in one process. Another [Aggregation] than
// [CountryDay] is two small interfaces.
//
// # Promises
//
//   - A subscriber counts every line of every shipped file exactly once, though
//     shippers and workers are killed at any moment and answers get lost. Its
//     counts and the mark that a file is counted change in one script.
//   - What is shipped again (renamed, rotated, compressed in another way, grown)
//     is recognised by its content: only what is new is counted.
//   - The files of a channel never take up more memory in Redis than its window.
//     A shipper waits while the window is full; who waits longest comes first.
//   - Nothing that died holds anything up for longer than its lease.
//   - Redis decides about time; a lost answer is asked for again; a worker that
//     was taken for dead is refused.
//
// Limits, for now: a file must fit the window as a whole, and a claim that was
// lost starts its file again from where the last commit ended.
//
// # The life of a file
//
//	            admit              complete            every subscriber has sealed
//	(known) ─────────────► uploading ───────► uploaded ───────────────────────► done
//	   ▲                       │ its shipper gives up or dies                    │
//	   │                       ▼                                                 │
//	   └── shipped again ── abandoned ◄────────── (what is new) ──── shipped again
//
// Each shipment has a number, which is in the names of its segments: what a
// zombie writes can't touch the next shipment. Segments of a file that is done
// or abandoned are freed at once, or by whoever comes by (sweep).
//
// # How a count becomes true
//
// A worker counts in memory. It then stages the cells of its count in a hash, in
// steps; seals them, which is one script: it checks the claim, renames the hash,
// records how far the file is counted and releases the claim; and folds the
// sealed cells into the totals, in steps of which each moves cells for good.
// Before the seal the count is void, after it the count is true: reports read
// totals and sealed cells together, and anybody can finish the fold.
//
// # Keys
//
// All begin with the prefix and logs:{CHANNEL}, so a channel lies on one slot; only
// the list of batches, logs:batches, belongs to no channel.
//
//	(nothing more)               hash    v, window, used (bytes), shipments, turn
//	:wake                        stream  one entry: something happened
//	:heads                       hash    digest of the first line → ids of files
//	:files                       zset    file → last touched, ms
//	:file:ID                     hash    the record of a file; fields FIELD:SUBSCRIBER
//	:open                        zset    file in Redis → admitted, ms
//	:uploads                     zset    file being uploaded → lease, ms
//	:spent                       set     files that are to be freed
//	:abandoned                   zset    file that was given up → when, ms
//	:segment:ID:SHIPMENT:N       string  a piece of a file
//	:wake:ID:SHIPMENT            stream  one entry, its id the bytes uploaded so far
//	:shippers, :leases, :line    who ships, until when they live, who waits for the window
//	:subscribers                 hash    subscriber → settings
//	:subscriber:S                hash    totals, seen, version, lines by country database
//	:subscriber:S:claims         zset    file → lease, ms
//	:subscriber:S:owners         hash    file → claim
//	:subscriber:S:staged:ID      hash    cell → number, counts for nothing yet
//	:subscriber:S:sealed         set     ID:SHIPMENT that are not folded yet
//	:subscriber:S:sealed:ID:SHIPMENT  hash  their cells
//	:subscriber:S:groups         zset    the days that were counted
//	:subscriber:S:count:DAY      zset    country → requests
//	:subscriber:S:problems       set     files counted in part or not at all
//
// After a run there is left of a file its record (up to 5 KB, most of it the marks
// by which a copy from an earlier time is recognised), for
// [RememberFor]. Format version 1; a newer one is refused with a [VersionError].
package distribute
