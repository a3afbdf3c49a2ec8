// Package stats counts what becomes of the jobs of queues over time: how many attempts succeed
// and fail, how long jobs wait and run, how deep a queue is, and which errors there are. Package
// workers counts, package ops reads.
//
//	collector := stats.NewCollector(stats.Config{Client: client, Pool: "worker-1"})
//	counter := collector.Counter(q)
//	counter.Add(ends)              // of attempts, when Redis has their outcomes
//	go collector.Run(ctx)          // writes the counts, and samples the queues
//
//	series, err := stats.Read(ctx, client, "mail", stats.Day)
//	groups, err := stats.Errors(ctx, client, "mail", 20)
//
// # What is promised
//
// A [Counter] counts in memory; nothing is added to the scripts by which jobs move. A
// [Collector] adds the counts to Redis every 10 s, and more slowly where there are more than 20
// pools, at most every 60 s. Each write has a number, which one script stores with the counts: a
// repeated write changes nothing, so that no attempt is counted twice. Not counted are
//
//   - attempts whose end Redis has not confirmed, which run again,
//   - what a pool counted since its last write, if it is killed,
//   - writes that Redis has lost, as in a failover,
//   - a write without an answer within 30 minutes after it was first tried,
//   - jobs that were added before the first sample of a queue, within a minute after a pool
//     first served it: Redis has their number, but not the minute of each.
//
// The time is that of Redis. Counts belong to the minute in the middle of the interval in which a
// pool counted them.
//
// # Keys
//
// All keys of a queue are on its slot: after the prefix and {QUEUE:0}: comes
//
//	stats             hash: format, and of the samples: sampler, sampled, enqueued
//	stats:kinds       sorted set of at most 20 kinds by when they were last seen; others are "other";
//	                  one that was not seen for a day makes room for a new one
//	stats:flush:POOL  the number of the pool's last write; expires after 1 h
//	stats:1m:N        hash of the Nth minute since 1970; expires after 2 h
//	stats:15m:N       the same of a quarter of an hour; expires after 26 h
//	stats:4h:N        the same of four hours; expires after 31 days
//	errors            hash of at most 1,000 groups of errors, by id
//	errors:last       sorted set of their ids by when they were last seen
//	watched           whether the pools were asked lately what they run; expires after 10 s
//	running           hash of what pools run of the queue, at most 8 KiB each; expires after 30 s,
//	                  and each report removes some older ones of others
//
// Keys without an expiry above expire 31 days after the last write. Pools write the last one only
// for some time after [Watch]. A bucket has a number for
// each "KIND METRIC", such as "email.send done":
//
//	done failed dead discarded cancelled   counts; a death is also a failure
//	run wait                               sums, in µs and ms
//	r0 r1 … w0 w1 …                        histograms: rI counts times below 2^I ms, from 2^(I-1) on
//
// and of the samples those without a kind, such as " waiting":
//
//	waiting active oldest                  the highest values; oldest in ms
//	delayed dead                           the latest values
//	added                                  jobs that were added, also by a plain XADD
//	at taken free                          of a minute: the time of the latest sample in ms since 1970, a
//	                                       number that changes when jobs are taken, and the slots that
//	                                       were free for jobs that waited
//
// A kind that always runs takes about 170 KB in some 400 buckets, so a queue takes at most about 5 MB,
// or 11 MB where the kinds have long names.
package stats
