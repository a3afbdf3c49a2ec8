// Package distribute ships log files through Redis to workers that count them,
// and adds their counts up exactly.
//
// A [Shipper] uploads files to a [Channel]. A [Worker] counts them for a subscriber,
// while they are still being uploaded; a subscriber is one [Aggregation], with any
// number of workers. A worker may serve several subscribers ([Worker.AddSubscriber]).
// [Batch] does all of it in one process.
//
//	channel, err := distribute.Open(ctx, db, "web") // db is a *skidway.DB
//	files, err := distribute.NewShipper(channel, nil).Ship(ctx, []string{"access.log"})
//
//	aggregation, err := distribute.NewCounting(nil) // in this or another process
//	worker, err := distribute.NewWorker(ctx, channel, "per-country", aggregation, &distribute.WorkerConfig{UntilDone: true})
//	result, err := worker.Work(ctx)
//	report, err := channel.Report(ctx, "per-country", nil)
//
// # Promises
//
//   - A subscriber counts every line of every shipped file exactly once, even if
//     shippers and workers are killed at any moment and replies are lost.
//   - A file that is shipped again (renamed, rotated, compressed in another way,
//     grown) is recognised by its content: only its new lines are counted.
//   - The files of a channel never use more memory in Redis than its window. A
//     shipper waits while the window is full; shippers are served in order. A file may be
//     far larger than the window: what all subscribers have counted is freed as they go.
//   - When the lease of a dead process has expired, other processes take over what
//     it held. Leases use the clock of Redis. When none was renewed for longer than
//     living processes need, Redis was away: uploads whose leases ended then are spared for
//     1.2 leases more, so that an outage, of up to the patience of the connection (30 s),
//     ends no upload.
//   - The counts of a subscriber belong to an epoch, which [Channel.Reset] ends. Nothing that was
//     counted in one epoch appears in another: a file is in Redis within one epoch only, and commits
//     and folds of another one are refused. A report has all of an epoch or nothing of it.
//   - A worker commits what it has counted of a file after each 64 MiB of content or
//     5 seconds (see [WorkerConfig]), also while the upload goes on, or rests. If its claim
//     is lost, the next worker goes on from the last commit. A report is exact at every moment: it
//     has all lines up to the last commit of each file, and no other.
//
// A subscriber that comes when the first part of a file is freed does not count the rest of
// it: the file is reported, and counted when it is shipped again. A zstd file that would
// take half of the window is converted to small frames, in a temporary file. A compressed file
// that is shipped again, because its shipper died, is uploaded and decompressed again from its
// start, but its lines are not counted again.
//
// # The window
//
// A file is uploaded in segments. Each is booked in the window before its first byte is
// uploaded, with the most memory that Redis ever uses for it, and is freed when no
// subscriber needs it. At every moment:
//
//   - The sum of what is booked, over all files, is at most the window.
//   - Of a file that is being counted, the segments from the one with the earliest
//     checkpoint of a subscriber on are in Redis: a worker that takes the file over reads
//     on there. A subscriber without a checkpoint needs all of them.
//   - The oldest file holds its reserve, or the window has room for the rest of that. The
//     reserve is as much as a checkpoint may be behind the end of what is uploaded: two
//     segments of 4 MiB, or more small ones in a small window.
//   - A file that holds its reserve books nothing while a shipper waits to admit a file.
//
// Workers claim files in the order of their admission. A worker commits early when that
// frees a quarter of the window, and when its shipper waits for room and all that was
// uploaded is read. A worker that has to wait for an upload, while an older file has no
// worker of a subscriber that it serves, commits, releases its file, and takes the older
// one. So the oldest file always goes on, and every file becomes the oldest one.
//
// A worker whose slots are all busy looks each second for a waiting file that is complete
// and small. It commits, counts that file, and goes on with the one it has, whose claim it
// keeps. The reader of a complete file never waits, so this takes a bounded time.
//
// A worker without room for the window of a compressed file sets the file aside until there
// is room. If no other worker has it, it counts small and complete files in the meantime.
//
// An upload that goes on may bring nothing for hours, such as a pipe from a quiet server. A worker
// that has counted all of it, while another file waits and no slot is idle, commits, releases
// it, and goes on with it when more is uploaded. It counts what has come as it counts small files,
// also between the blocks of a large file.
//
// # One reading for several subscribers
//
// A worker that serves several subscribers downloads and decompresses a file once for all
// of them for which it has the claim. Claims and commits are those of single subscribers, so
// the promises to a subscriber do not depend on which worker serves it, or on the others:
//
//   - A claim is for one file and one subscriber. When a worker claims a file for a
//     subscriber, the same script claims it for the worker's other subscribers that have
//     not counted it and for which no other worker has it.
//   - The reading begins at the earliest place where one of them goes on. Each skips what
//     it has counted, and has its own settings, checkpoints, stages, seals and heartbeats.
//   - A subscriber whose claim is lost, whose aggregation refuses the file, or that is
//     removed, leaves; the others go on. An error that ends the worker, such as a commit
//     that Redis refuses, releases all claims: each subscriber goes on from its last commit.
//   - A subscriber whose claim gets free in the middle of a reading is served later, by any
//     worker. If the reading has to wait for the upload until then, its worker commits and
//     begins anew, at the earliest place again: else a worker could wait for room that this
//     subscriber holds.
//
// What follows the decompression is done for each subscriber: their aggregations decide how
// lines are split and parsed.
//
// # Sources
//
// [Channel.Export] writes what the workers of a subscriber have counted, and [Channel.Import] adds it
// to the reports of another one, as a source. At every moment:
//
//   - A report adds up what the subscriber counted and one import of each source. It begins with the
//     list of these imports, which one script changes, and is read again if that changes meanwhile.
//   - The import of a source is that of its latest epoch, and of the latest commit in it, that was
//     imported. An import is written beside it, under a random name that is never used again. It
//     becomes that of the source when it is whole and was checked, in the epoch of the subscriber in
//     which it began.
//   - The lines of each day in an import are those of its cells, in all cuts. Days that expire are moved
//     as those of the subscriber, by the same scripts.
//   - An import that is not that of a source is deleted: when its lease has ended, or when it was
//     replaced. Removal and reset of a subscriber delete all of them.
//
// # Streams
//
// Standard input and FIFOs are streams: they are read once, to their end, and their size is not
// known before. A segment is booked when the one before is full. Plain content is uploaded as
// it is, that of any codec is converted to zstd frames as it comes; both in whole blocks of
// 256 KiB, so that Redis uses what is booked. At every moment all that was read of a stream is
// counted, in Redis, or in the memory of its shipper: the window of its decompressor and 4 MiB
// at most. There is no temporary file.
//
// Its first 64 KiB identify a stream, as a file. If they are known, the shipper waits until
// what was shipped before is counted, reads over what all subscribers have counted, and
// uploads the rest. So a stream is the same as the file that it was made of. One that differs from it
// where it goes on is refused: another file would be shipped from its start.
//
// What was read can't be uploaded again. When the shipper of a stream is stopped, fails or
// dies, the upload therefore is not abandoned, but complete: workers count what is in Redis up
// to the last whole line, and report the file as counted in part, with the place. When the same
// content is sent again, the lines behind that place are counted. [Shipper.Stop] ends the reading
// of a stream: what was read before is uploaded, also if that has to wait until the window has
// room, or until what was shipped before is counted.
//
// # States of a file
//
//	            admitted            complete            every subscriber has counted it
//	no record ─────────► uploading ─────────► uploaded ────────────────────────────────► done
//	                      ▲  │  ▲                                                          │
//	                      │  │  └──────────────────── (shipped again) ─────────────────────┘
//	      (shipped again) │  ▼ its shipper fails or dies
//	                    abandoned
//
// How counts become valid is in docs/architecture.md. The keys in Redis are listed in
// keys.go, and have format version 5; a newer or older one is refused with a [VersionError].
package distribute
