package queue

import (
	"crypto/sha1"
	"encoding/hex"
)

// versionOf is the version of a schedule's record, as the scripts compute it.
func versionOf(record string) string {
	sum := sha1.Sum([]byte(record))
	return hex.EncodeToString(sum[:])
}

const (
	scheduleRecord = "1n4:kind1:a4:expr1:*4:zone3:UTC"
	dueSchedule    = "HSET :schedules s " + scheduleRecord + "\nZADD :schedules:due 1000 s\n"
)

var scheduleVersion = versionOf(scheduleRecord)

var scheduleCases = []scriptCase{
	{
		claim: "a schedule that is not there has no version",
		call:  "schedule_get s", reply: `ok \d+ '' '' ''`, unchanged: true,
	}, {
		claim: "a schedule is returned with its version and next time",
		given: dueSchedule,
		call:  "schedule_get s", reply: `ok \d+ ` + "1n4:kind1:a4:expr1:[*]4:zone3:UTC " + scheduleVersion + " 1000", unchanged: true,
	},

	{
		claim: "a new schedule is stored",
		call:  "schedule_set s '' " + scheduleRecord + " 1000 10", reply: "ok", full: "OOM",
		after: `HLEN :schedules = 1
			ZRANGEBYSCORE :schedules:due 1000 1000 = s
			XRANGE :control - + = \S+ do schedule`,
	}, {
		claim: "a schedule that is there with another content is not taken for a new one",
		given: dueSchedule,
		call:  "schedule_set s '' {kind=b} 2000 10", reply: "moved", unchanged: true,
	}, {
		claim: "a schedule that was changed since it was read stays",
		given: dueSchedule,
		call:  "schedule_set s " + versionOf("other") + " {kind=b} 2000 10", reply: "moved", unchanged: true,
	}, {
		claim: "a schedule that is gone is not changed",
		call:  "schedule_set s " + scheduleVersion + " {kind=b} 2000 10", reply: "moved", unchanged: true,
	}, {
		claim: "a schedule that was changed since it was read is not removed",
		given: dueSchedule,
		call:  "schedule_set s " + versionOf("other") + " '' '' 10", reply: "moved", unchanged: true,
	}, {
		claim: "one schedule more than there may be is refused",
		given: dueSchedule,
		call:  "schedule_set another '' {kind=b} 2000 1", reply: "full", unchanged: true,
	}, {
		claim: "one that is there is changed even then, and keeps its time",
		given: dueSchedule,
		call:  "schedule_set s " + scheduleVersion + " {kind=b} '' 1", reply: "ok", full: "OOM",
		after: "HGET :schedules s = 1n4:kind1:b\nZRANGEBYSCORE :schedules:due 1000 1000 = s",
	}, {
		claim: "a schedule is removed with its firings",
		given: dueSchedule + "HSET :schedules:fired s firing",
		call:  "schedule_set s " + scheduleVersion + " '' '' 10", reply: "ok",
		after: "EXISTS :schedules :schedules:due :schedules:fired = 0",
	},

	{
		claim: "where nothing is scheduled nothing is due",
		call:  "schedule_due me 30000 10", reply: `ok \d+ 0 \d+ -1 1`, unchanged: true,
	}, {
		claim: "a schedule that is due is returned", exactTime: true,
		given: "HSET :schedules s {kind=a} t {kind=b}\nZADD :schedules:due @now s @now+1 t",
		call:  "schedule_due me 30000 10", reply: "ok @now 0 @now 1 1 s @now " + versionOf("1n4:kind1:a") + " 1n4:kind1:a",
		after: "HMGET :schedules:watch old since until waker waker_due = 0 @now @now+30000 me @now+1",
	}, {
		claim: "another watch asked for the next time before", exactTime: true,
		given: "HSET :schedules s {kind=a}\nZADD :schedules:due @now+500 s\nHSET :schedules:watch waker other waker_due @now+500",
		call:  "schedule_due me 30000 10", reply: "ok @now 0 @now 500 0",
	}, {
		claim: "the watch goes on while it is vouched for", exactTime: true,
		given: "HSET :schedules s {kind=a}\nZADD :schedules:due @now+500 s\nHSET :schedules:watch old 5 since 7 until @now",
		call:  "schedule_due me 30000 10", reply: "ok @now 5 7 500 1",
	}, {
		claim: "a time after which nobody watched begins a new watch", exactTime: true,
		given: "HSET :schedules s {kind=a}\nZADD :schedules:due @now+500 s\nHSET :schedules:watch old 5 since 7 until @now-1",
		call:  "schedule_due me 30000 10", reply: "ok @now @now-1 @now 500 1", again: "ok @now @now-1 @now 500 1",
	}, {
		claim: "a version that the watch can't read is passed over",
		given: dueSchedule,
		call:  "schedule_due me 30000 10 s " + scheduleVersion, reply: `ok \d+ 0 \d+ -1 1`, unchanged: true,
	}, {
		claim: "a later version is not",
		given: dueSchedule,
		call:  "schedule_due me 30000 10 s " + versionOf("other"), reply: `ok \d+ 0 \d+ -1 1 s 1000 \S+ \S+`,
	}, {
		claim: "a time without a schedule is dropped",
		given: "ZADD :schedules:due 1 s",
		call:  "schedule_due me 30000 10", reply: `ok \d+ 0 \d+ -1 1`,
		after: "EXISTS :schedules:due = 0",
	},

	{
		claim: "a schedule fires once for a time",
		given: dueSchedule,
		call:  "schedule_fire s " + scheduleVersion + " 1000 2000 1000 {h=1}", reply: "ok", again: "moved", full: "OOM",
		after: `XRANGE :normal:fresh - + = \S+ job 1n4:kind1:a7:headers\S+
			ZRANGEBYSCORE :schedules:due 2000 2000 = s
			HGET :schedules:fired s = 1000 \d+ n\d+-\d+
			HGET :counts total:enqueued = 1`,
	}, {
		claim: "a schedule that fires never again has no time",
		given: dueSchedule,
		call:  "schedule_fire s " + scheduleVersion + " 1000 ''", reply: "ok", again: "moved",
		after: "EXISTS :schedules:due = 0\nHLEN :schedules = 1",
	}, {
		claim: "a schedule that was changed does not fire",
		given: dueSchedule,
		call:  "schedule_fire s " + versionOf("other") + " 1000 2000 1000 {h=1}", reply: "moved", unchanged: true,
	}, {
		claim: "a time for which it has fired is not fired again",
		given: dueSchedule,
		call:  "schedule_fire s " + scheduleVersion + " 999 2000 999 {h=1}", reply: "moved", unchanged: true,
	}, {
		claim: "a schedule that is gone does not fire",
		given: "ZADD :schedules:due 1000 s",
		call:  "schedule_fire s " + scheduleVersion + " 1000 2000 1000 {h=1}", reply: "moved", unchanged: true,
	}, {
		claim: "a schedule without a time does not fire",
		given: "HSET :schedules s " + scheduleRecord,
		call:  "schedule_fire s " + scheduleVersion + " 1000 2000 1000 {h=1}", reply: "moved", unchanged: true,
	}, {
		claim: "a time to come is not fired", exactTime: true,
		given: dueSchedule + "ZADD :schedules:due @now+1 s",
		call:  "schedule_fire s " + scheduleVersion + " @now+1 @now+2 @now+1 {h=1}", reply: "moved", unchanged: true,
	}, {
		claim: "nor is a later one with it", exactTime: true,
		given: dueSchedule,
		call:  "schedule_fire s " + scheduleVersion + " 1000 @now+2 1000 {h=1} @now+1 {h=1}", reply: "moved", unchanged: true,
	}, {
		claim: "a damaged record does not fire",
		given: "HSET :schedules s 1n9:kind\nZADD :schedules:due 1000 s",
		call:  "schedule_fire s " + versionOf("1n9:kind") + " 1000 2000 1000 {h=1}", reply: "damaged", unchanged: true,
	}, {
		claim: "a firing whose key is held adds no job",
		given: "HSET :schedules s {kind=a,unique=k}\nZADD :schedules:due 1000 s\nHSET :unique k n9-9",
		call:  "schedule_fire s " + versionOf("1n4:kind1:a6:unique1:k") + " 1000 2000 1000 {h=1}", reply: "ok", again: "moved", full: "OOM",
		after: `XLEN :normal:fresh = 0
			HGET :schedules:fired s = 1000 \d+ =n9-9`,
	},

	{
		claim: "a schedule is fired now, once for a token",
		given: dueSchedule,
		call:  "schedule_run s " + scheduleVersion + " token 5000 {h=1}", reply: `ok n\d+-\d+`, full: "OOM",
		after: `XLEN :normal:fresh = 1
			ZRANGEBYSCORE :schedules:due 1000 1000 = s
			HGET :schedules:fired s = 5000 \d+ n\d+-\d+ token`,
	}, {
		claim: "a schedule that was changed is not fired",
		given: dueSchedule,
		call:  "schedule_run s " + versionOf("other") + " token 5000 {h=1}", reply: "moved", unchanged: true,
	}, {
		claim: "a schedule that is gone is not fired",
		call:  "schedule_run s " + scheduleVersion + " token 5000 {h=1}", reply: "moved", unchanged: true,
	}, {
		claim: "a damaged record is not fired",
		given: "HSET :schedules s 1n9:kind\nZADD :schedules:due 1000 s",
		call:  "schedule_run s " + versionOf("1n9:kind") + " token 5000 {h=1}", reply: "damaged", unchanged: true,
	}, {
		claim: "the job that holds the key is named",
		given: "HSET :schedules s {kind=a,unique=k}\nHSET :unique k n9-9",
		call:  "schedule_run s " + versionOf("1n4:kind1:a6:unique1:k") + " token 5000 {h=1}", reply: "ok =n9-9", full: "OOM",
		after: "XLEN :normal:fresh = 0",
	},
}
