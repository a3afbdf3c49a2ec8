package queue

import (
	"embed"

	"skidway/internal/rdb"
)

//go:embed lua
var luaFiles embed.FS

// scripts are the scripts of a queue. Words without an error are handled by the callers.
var scripts = rdb.LoadScripts("queue", luaFiles, keyNames[:], rdb.Words{
	"format": func(r rdb.Reply) error { return newFormatError(r.Text(0)) },
	"lost":   func(rdb.Reply) error { return ErrLeaseLost },

	"none": nil, "state": nil, "malformed": nil, "duplicate": nil, "same": nil, // of one job
	"old": nil, "known": nil, "busy": nil, "ended": nil, // of operations
	"empty": nil, "paused": nil, "no": nil, // of fetches
	"other": nil,                              // of requests
	"moved": nil, "full": nil, "damaged": nil, // of schedules
})

var (
	awaitScript        = scripts.Idempotent("await", "await a job")
	changeScript       = scripts.Script("change", "change a job")
	countersScript     = scripts.Idempotent("counters", "read counters")
	depthScript        = scripts.Idempotent("depth", "count jobs")
	enqueuePlainScript = scripts.Script("enqueue_plain", "enqueue", plainKeyNames...)
	enqueueOnceScript  = scripts.IdempotentChange("enqueue_once", "enqueue", requestKeyNames...)
	enqueueScript      = scripts.Script("enqueue", "enqueue")
	eventsScript       = scripts.Idempotent("events", "keep events")
	fetchLookScript    = scripts.Idempotent("fetch_look", "look before a fetch")
	fetchScript        = scripts.Script("fetch", "fetch jobs")
	finishScript       = scripts.Idempotent("finish", "finish jobs")
	forgetScript       = scripts.Idempotent("forget", "delete a queue", allKeyNames...)
	heldScript         = scripts.Idempotent("held", "list held jobs")
	leaseBeatScript    = scripts.Idempotent("lease_beat", "renew a lease")
	leaseCloseScript   = scripts.Idempotent("lease_close", "close a lease")
	leaseSoloScript    = scripts.Idempotent("lease_solo", "mark a solo job")
	listScript         = scripts.Idempotent("list", "list jobs")
	logScript          = scripts.Script("joblog", "log for a job")
	lookupScript       = scripts.Idempotent("lookup", "read a job")
	moveScript         = scripts.Idempotent("move", "move due jobs")
	operationScript    = scripts.Idempotent("operation", "change many jobs", operationKeyNames...)
	pauseScript        = scripts.Idempotent("pause", "pause or resume")
	poolBeatScript     = scripts.Idempotent("pool_beat", "renew a pool", registryKeyNames...)
	poolsScript        = scripts.Idempotent("pools", "list pools", registryKeyNames...)
	progressScript     = scripts.Idempotent("joblog", "set the progress of a job")
	recoverScript      = scripts.Idempotent("recover", "recover jobs")
	registerScript     = scripts.Idempotent("register", "register a queue", registryKeyNames...)
	rereadScript       = scripts.Idempotent("reread", "read held jobs again")
	repeatedScript     = scripts.Idempotent("change", "change a job") // for changes that can be repeated
	retentionScript    = scripts.Idempotent("retention", "set the retention")
	saltScript         = scripts.Idempotent("salt", "read the salt")
	scanLookScript     = scripts.Idempotent("scan_look", "look before a scan")
	scanShelfScript    = scripts.Idempotent("scan_shelf", "list ids of jobs")
	scheduleDueScript  = scripts.Idempotent("schedule_due", "find due schedules", scheduleKeyNames...)
	scheduleFireScript = scripts.Idempotent("schedule_fire", "fire a schedule", scheduleKeyNames...)
	scheduleGetScript  = scripts.Idempotent("schedule_get", "read a schedule", scheduleKeyNames...)
	scheduleRunScript  = scripts.Idempotent("schedule_run", "fire a schedule now", scheduleKeyNames...)
	scheduleSetScript  = scripts.Idempotent("schedule_set", "change a schedule", scheduleKeyNames...)
	signalScript       = scripts.Idempotent("signal_send", "send a signal")
	tidyScript         = scripts.Idempotent("tidy", "tidy up")
	unregisterScript   = scripts.Idempotent("unregister", "remove a queue from the list", registryKeyNames...)
	unusedScript       = scripts.Idempotent("unused", "find unused queues", registryKeyNames...)
	workersScript      = scripts.Idempotent("workers", "list workers")
)
