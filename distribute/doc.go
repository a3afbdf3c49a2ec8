// Package distribute ships log files through Redis to workers that count them,
// and adds their counts up exactly.
//
// A [Shipper] uploads files to a [Channel]. A [Worker] counts them for a subscriber,
// while they are still being uploaded; a subscriber is one [Aggregation], with any
// number of workers. [Batch] does all of it in one process.
//
//	channel, err := distribute.Open(ctx, db, "web") // db is a *skidway.DB
//	files, err := distribute.NewShipper(channel, nil).Ship(ctx, []string{"access.log"})
//
//	aggregation, err := distribute.NewCountryDay(nil) // in this or another process
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
//     it held. Leases use the clock of Redis.
//   - A worker commits what it has counted of a file after each 64 MiB of content or
//     5 seconds (see [WorkerConfig]), also while the upload goes on. If its claim is lost,
//     the next worker goes on from the last commit. A report is exact at every moment: it
//     has all lines up to the last commit of each file, and no other.
//
// A subscriber that comes when the first part of a file is freed does not count the rest of
// it: the file is reported, and counted when it is shipped again. A zstd file that would
// take half of the window is converted to small frames, in a temporary file. A compressed file that is shipped again, because its shipper died, is
// uploaded and decompressed again from its start, but its lines are not counted again.
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
// worker, commits, gives its file back, and takes the older one. So the oldest file always
// goes on, and every file becomes the oldest one.
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
// keys.go, and have format version 3; a newer or older one is refused with a [VersionError].
package distribute
