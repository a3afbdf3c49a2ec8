package api

import (
	"net/http"
	"time"

	"skidway/ops/access"
)

const (
	get    = http.MethodGet
	put    = http.MethodPut
	post   = http.MethodPost
	remove = http.MethodDelete
)

// routes returns the table of the API.
func routes() []route {
	table := []route{
		{method: get, path: "/whoami", scope: noQueue,
			summary: "Shows who asks, and what that principal may do",
			status:  200, answer: Whoami{}, serve: whoami},
		{method: get, path: "/openapi.json", scope: noQueue,
			summary: "Describes the API in OpenAPI 3.1",
			status:  200, answer: map[string]any{}, serve: openAPI},
		{method: get, path: "/events", action: access.View, scope: anyQueue,
			summary: "Streams the events of a queue or of a job, as server-sent events",
			params:  []param{{name: "queue", summary: "whose events"}, {name: "job", summary: "only the events of this job"}},
			status:  200, answer: Event{}, types: []string{eventsHeader}, problems: []string{"no-queue", "events-off", "busy"}, stream: true, serve: streamEvents},
		{method: get, path: "/scale", action: access.Scale, scope: anyQueue,
			summary: "Shows how many workers a queue or a subscriber needs",
			params: []param{
				{name: "queue", summary: "that the workers serve"}, {name: "channel", summary: "whose files they count; it needs the scope scale:*"}, {name: "subscriber", summary: "for which they count"},
				{name: "per_worker", summary: "jobs that a worker runs at once (default 16)", number: true}, {name: "drain", summary: "time in which the backlog is to be done (default 1m)"},
			},
			status: 200, answer: Scale{}, problems: []string{"no-queue", "not-found"}, serve: showScale},
		{method: get, path: "/audit", action: access.Admin, scope: allQueues,
			summary: "Lists the audit, the latest entries first",
			params:  listParams(param{name: "newer_than", summary: "only entries newer than this, such as 1h"}),
			status:  200, answer: List[AuditEntry]{}, serve: listAudit},
	}
	table = append(table, queueRoutes()...)
	table = append(table, jobRoutes()...)
	table = append(table, changeRoutes()...)
	table = append(table, operationRoutes()...)
	table = append(table, fleetRoutes()...)
	table = append(table, scheduleRoutes()...)
	return append(table, channelRoutes()...)
}

func queueRoutes() []route {
	return []route{
		{method: get, path: "/queues", action: access.View, scope: anyQueue,
			summary: "Lists queues with the numbers of their jobs",
			params:  listParams(),
			status:  200, answer: List[Queue]{}, serve: listQueues},
		{method: get, path: "/queues/{queue}", action: access.View, scope: pathQueue,
			summary: "Shows a queue, and why its jobs do not run",
			status:  200, answer: QueueReport{}, serve: showQueue},
		{method: get, path: "/queues/{queue}/stats", action: access.View, scope: pathQueue,
			summary: "Shows what became of the jobs of a queue over time",
			params:  []param{{name: "range", summary: "how far to look back (default hour)", words: []string{"hour", "day", "month"}}, {name: "kind", summary: "only attempts at jobs of this kind"}},
			status:  200, answer: Statistics{}, serve: queueStats},
		{method: get, path: "/queues/{queue}/errors", action: access.View, scope: pathQueue,
			summary: "Lists the groups of errors of a queue, the latest first",
			params:  listParams(param{name: "kind", summary: "only errors of jobs of this kind"}), status: 200, answer: List[ErrorGroup]{}, serve: queueErrors},
		{method: post, path: "/queues/{queue}/pause", audit: "pause", action: access.Operate, scope: pathQueue,
			summary: "Stops workers from taking jobs of a queue",
			body:    Pause{}, bodyOptional: true, status: 200, answer: Queue{}, serve: pauseQueue},
		{method: post, path: "/queues/{queue}/resume", audit: "resume", action: access.Operate, scope: pathQueue,
			summary: "Undoes a pause",
			status:  200, answer: Queue{}, serve: resumeQueue},
		{method: get, path: "/queues/{queue}/retention", action: access.View, scope: pathQueue,
			summary: "Shows how many jobs that have ended a queue keeps, and how long",
			status:  200, answer: Retention{}, tagged: true, serve: showRetention},
		{method: put, path: "/queues/{queue}/retention", audit: "retention", action: access.Admin, scope: pathQueue,
			summary: "Sets how many jobs that have ended a queue keeps, and how long; what is missing has its default",
			body:    Retention{}, status: 200, answer: Retention{}, tagged: true, serve: putRetention},
		{method: remove, path: "/queues/{queue}", audit: "delete queue", action: access.Admin, scope: pathQueue,
			summary: "Deletes a queue that has no jobs, schedules and workers",
			status:  204, problems: []string{"not-empty"}, serve: deleteQueue},
	}
}

func jobRoutes() []route {
	return []route{
		{method: get, path: "/queues/{queue}/jobs", action: access.View, scope: pathQueue,
			summary: "Lists jobs of a queue. As NDJSON or CSV, by Accept, it has all jobs that match, at most 10,000",
			params: listParams(
				param{name: "state", summary: "only jobs in this state (default: all states)", words: jobStates},
				param{name: "match", summary: "a filter expression, such as error contains \"timeout\""},
				param{name: "kind", summary: "only jobs of this kind"},
				param{name: "error", summary: "only jobs with this text in an error"},
				param{name: "older_than", summary: "only jobs older than this, such as 1h"},
				param{name: "newer_than", summary: "only jobs newer than this"},
			),
			status: 200, answer: List[Job]{}, types: []string{ndjsonType, csvType}, problems: []string{"busy"}, extra: extraExportTime, serve: listJobs},
		{method: get, path: "/jobs/{id}", action: access.View, scope: idQueue,
			summary: "Shows a job",
			params:  []param{{name: "wait", summary: "how long to wait until it has ended, up to 60s"}}, status: 200, answer: Job{}, problems: []string{"no-job", "busy"}, extra: waitTime, serve: showJob},
		{method: get, path: "/jobs/{id}/log", action: access.View, scope: idQueue,
			summary: "Shows the last lines that a job logged",
			status:  200, answer: JobLog{}, problems: []string{"no-job"}, serve: showLog},
		{method: get, path: "/jobs/{id}/result", action: access.View, scope: idQueue,
			summary: "Shows the result of a job",
			status:  200, answer: JobResult{}, problems: []string{"no-job"}, serve: showResult},
		{method: post, path: "/queues/{queue}/jobs", audit: "enqueue", action: access.Enqueue, scope: pathQueue,
			summary: "Adds a job",
			body:    NewJob{}, status: 201, answer: Added{}, otherAnswers: map[int]any{200: Added{}}, problems: addProblems, repeatable: true, serve: addJob},
		{method: post, path: "/jobs", audit: "enqueue", action: access.Enqueue, scope: anyQueue,
			summary: "Adds up to 1,000 jobs, as an object or as NDJSON",
			body:    Batch{}, bodyTypes: []string{jsonType, ndjsonType}, batch: true, status: 200, answer: BatchResults{}, repeatable: true, extra: func(*request) time.Duration { return batchTime }, serve: addJobs},
		{method: post, path: "/jobs/{id}/copy", audit: "copy", action: access.Operate, scope: idQueue,
			summary: "Adds a copy of a job, with other args or options; it needs the scopes view and enqueue too",
			body:    Copy{}, bodyOptional: true, status: 201, answer: Added{}, otherAnswers: map[int]any{200: Added{}}, repeatable: true, problems: append([]string{"no-job"}, addProblems...), serve: copyJob},
	}
}

// changeProblems are those of changes of one job.
var changeProblems = []string{"no-job", "wrong-state", "duplicate", "outcome-unknown"}

// addProblems are those of requests that add a job.
var addProblems = []string{"duplicate", "outcome-unknown", "unfit-server", "unconfirmed"}

func changeRoutes() []route {
	change := func(name, summary string, body any, serve changeJob) route {
		return route{
			method: post, path: "/jobs/{id}/" + name, audit: name, action: access.Operate, scope: idQueue, summary: summary,
			body: body, bodyOptional: true, status: 200, answer: JobState{}, problems: changeProblems, serve: serve.serve,
		}
	}
	return []route{
		change("retry", "Runs a dead job again, or a delayed one now", IfState{}, retryJob),
		change("run-now", "Runs a delayed job now", IfState{}, runJobNow),
		change("cancel", "Cancels a job; an active one ends when its handler returns", IfState{}, cancelJob),
		change("reschedule", "Changes the time of a delayed job", Reschedule{}, rescheduleJob),
		change("priority", "Changes the priority of a job", SetPriority{}, prioritizeJob),
		{method: remove, path: "/jobs/{id}", audit: "delete", action: access.Admin, scope: idQueue,
			summary: "Deletes a job that is not active",
			status:  204, problems: changeProblems, serve: deleteJob},
	}
}

func operationRoutes() []route {
	return []route{
		{method: post, path: "/queues/{queue}/operations", audit: "change jobs", action: access.Operate, scope: pathQueue,
			summary: "Changes all jobs in a state that match a filter, or those with some ids. A filter needs the scope view, and deletion admin",
			body:    NewOperation{}, status: 202, answer: Operation{}, otherAnswers: map[int]any{200: oneOf{Operation{}, Question{}, IDResults{}}}, repeatable: true, problems: []string{"question-expired", "running", "stopping"}, serve: addOperation},
		{method: post, path: "/queues/{queue}/purge", audit: "purge", action: access.Admin, scope: pathQueue,
			summary: "Deletes all jobs of a queue in a state",
			body:    Purge{}, status: 202, answer: Operation{}, otherAnswers: map[int]any{200: Question{}}, problems: []string{"question-expired", "running", "stopping"}, serve: purgeQueue},
		{method: get, path: "/operations", action: access.View, scope: anyQueue,
			summary: "Lists the last 100 operations, the latest first",
			params:  listParams(),
			status:  200, answer: List[Operation]{}, serve: listOperations},
		{method: get, path: "/operations/{id}", action: access.View, scope: idQueue,
			summary: "Shows an operation",
			status:  200, answer: Operation{}, problems: []string{"not-found"}, serve: showOperation},
		{method: post, path: "/operations/{id}/stop", audit: "stop", action: access.Operate, scope: idQueue,
			summary: "Stops an operation, whichever process runs it",
			status:  200, answer: Operation{}, problems: []string{"not-found"}, serve: stopOperation},
		{method: post, path: "/operations/{id}/continue", audit: "continue", action: access.Operate, scope: idQueue,
			summary: "Continues an operation that was stopped or interrupted",
			status:  202, answer: Operation{}, problems: []string{"not-found", "running", "ended", "stopping"}, serve: continueOperation},
	}
}

func fleetRoutes() []route {
	return []route{
		{method: get, path: "/workers", action: access.View, scope: anyQueue,
			summary: "Lists workers and the jobs that they hold",
			params:  listParams(param{name: "queue", summary: "only those that take jobs of this queue"}),
			status:  200, answer: List[Worker]{}, serve: listWorkers},
		{method: post, path: "/workers/{worker}/quiet", audit: "quiet worker", action: access.Operate, scope: anyQueue,
			summary: "Makes a worker take no more jobs",
			status:  202, answer: Signalled{}, problems: []string{"not-found", "no-way"}, serve: quietWorker},
		{method: post, path: "/workers/{worker}/stop", audit: "stop worker", action: access.Operate, scope: anyQueue,
			summary: "Stops a worker",
			status:  202, answer: Signalled{}, problems: []string{"not-found", "no-way"}, serve: stopWorker},
		{method: get, path: "/running", action: access.View, scope: anyQueue,
			summary: "Lists the jobs whose handlers run now, the longest first",
			params:  listParams(param{name: "queue", summary: "only jobs of this queue"}),
			status:  200, answer: RunningList{}, serve: listRunning},
	}
}

func scheduleRoutes() []route {
	const one = "/queues/{queue}/schedules/{schedule}"
	return []route{
		{method: get, path: "/queues/{queue}/schedules", action: access.View, scope: pathQueue,
			summary: "Lists the schedules of a queue",
			params:  listParams(),
			status:  200, answer: List[Schedule]{}, serve: listSchedules},
		{method: get, path: one, action: access.View, scope: pathQueue,
			summary: "Shows a schedule",
			status:  200, answer: Schedule{}, problems: []string{"not-found"}, tagged: true, serve: showSchedule},
		{method: put, path: one, audit: "put schedule", action: access.Admin, scope: pathQueue,
			summary: "Adds or replaces a schedule; it needs the scope enqueue too",
			body:    NewSchedule{}, status: 200, answer: Schedule{}, tagged: true, serve: putSchedule},
		{method: remove, path: one, audit: "remove schedule", action: access.Admin, scope: pathQueue,
			summary: "Removes a schedule",
			status:  204, problems: []string{"not-found"}, tagged: true, serve: deleteSchedule},
		{method: post, path: one + "/run", audit: "run schedule", action: access.Operate, scope: pathQueue,
			summary: "Adds the job of a schedule now",
			status:  201, answer: Added{}, problems: []string{"not-found", "duplicate"}, tagged: true, serve: runSchedule},
		{method: post, path: one + "/pause", audit: "pause schedule", action: access.Operate, scope: pathQueue,
			summary: "Makes a schedule add no jobs",
			status:  200, answer: ScheduleState{}, problems: []string{"not-found"}, tagged: true, serve: pauseSchedule},
		{method: post, path: one + "/resume", audit: "resume schedule", action: access.Operate, scope: pathQueue,
			summary: "Undoes the pause of a schedule; times that have passed are skipped",
			status:  200, answer: ScheduleState{}, problems: []string{"not-found"}, tagged: true, serve: resumeSchedule},
	}
}

func channelRoutes() []route {
	return []route{
		{method: get, path: "/channels", action: access.View, scope: allQueues,
			summary: "Lists log channels",
			params:  listParams(),
			status:  200, answer: List[Channel]{}, serve: listChannels},
		{method: get, path: "/channels/{channel}", action: access.View, scope: allQueues,
			summary: "Shows a log channel",
			status:  200, answer: ChannelStatus{}, problems: []string{"not-found"}, serve: showChannel},
		{method: get, path: "/channels/{channel}/counts", action: access.View, scope: allQueues,
			summary: "Shows the counts of a subscriber, as JSON or CSV by Accept",
			params: []param{
				{name: "subscriber", summary: "whose counts", required: true}, {name: "from", summary: "the first day, as 2006-01-02"}, {name: "to", summary: "the last day"},
				{name: "top", summary: "only the highest of each day", number: true},
			},
			status: 200, answer: ChannelCounts{}, types: []string{csvType}, problems: []string{"not-found"}, serve: channelCounts},
		{method: get, path: "/chats", action: access.View, scope: allQueues,
			summary: "Lists the chats of a member, with the numbers of its unread messages",
			params:  listParams(param{name: "member", summary: "whose chats", required: true}),
			status:  200, answer: List[ChatMembership]{}, serve: listChats},
		{method: get, path: "/chats/{chat}", action: access.View, scope: allQueues,
			summary: "Shows a chat and a page of its members, without messages",
			params:  listParams(),
			status:  200, answer: Chat{}, problems: []string{"not-found"}, serve: showChat},
	}
}
