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
//     shipper waits while the window is full; shippers are served in order.
//   - When the lease of a dead process has expired, other processes take over what
//     it held. Leases use the clock of Redis.
//   - A worker commits what it has counted of a file after each 64 MiB of content or
//     5 seconds (see [WorkerConfig]), also while the upload goes on. If its claim is lost,
//     the next worker goes on from the last commit. A report is exact at every moment: it
//     has all lines up to the last commit of each file, and no other.
//
// A file must fit the window as a whole. A compressed file that is shipped again, because
// its shipper died, is decompressed again from its start, but its lines are not counted
// again.
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
// keys.go, and have format version 2; a newer or older one is refused with a [VersionError].
package distribute
