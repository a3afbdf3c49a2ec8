package main

import (
	"time"

	"skidway/distribute/chat/group"
	"skidway/internal/doctor"
	"skidway/queue"
)

// These types have the JSON fields of commands that tests check.

type jobJSON struct {
	ID          string            `json:"id"`
	Queue       string            `json:"queue"`
	State       queue.State       `json:"state"`
	Kind        string            `json:"kind"`
	Priority    string            `json:"priority"`
	Args        any               `json:"args"`
	Enqueued    time.Time         `json:"enqueued,omitzero"`
	Due         time.Time         `json:"due,omitzero"`
	Worker      string            `json:"worker,omitempty"`
	Taken       time.Time         `json:"taken,omitzero"`
	Ended       time.Time         `json:"ended,omitzero"`
	Outcome     queue.Outcome     `json:"outcome,omitempty"`
	Reason      string            `json:"reason,omitempty"`
	Attempts    int               `json:"failed_attempts"`
	Forgiven    int               `json:"forgiven_attempts,omitempty"`
	MaxAttempts int               `json:"max_attempts,omitempty"`
	Timeout     float64           `json:"timeout_seconds,omitempty"`
	Deadline    time.Time         `json:"deadline,omitzero"`
	Retain      float64           `json:"retain_seconds,omitempty"`
	Unique      string            `json:"unique,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
	Then        []queue.NewJob    `json:"then,omitempty"`
	Suspected   int               `json:"suspected,omitempty"`
	Crashes     int               `json:"crashes,omitempty"`
	Errors      []queue.Failure   `json:"errors"`
	Progress    any               `json:"progress,omitempty"`
	Result      any               `json:"result,omitempty"`
	Log         []string          `json:"log,omitempty"`
}

type firingJSON struct {
	Due    string `json:"due"`
	Fired  string `json:"fired"`
	Job    string `json:"job,omitempty"`
	HeldBy string `json:"held_by,omitempty"`
	Manual bool   `json:"manual,omitempty"`
}

type scheduleJSON struct {
	Name     string       `json:"name"`
	Queue    string       `json:"queue"`
	Expr     string       `json:"expression"`
	Zone     string       `json:"zone"`
	Kind     string       `json:"kind"`
	Args     any          `json:"args"`
	CatchUp  string       `json:"catch_up"`
	Revision int          `json:"revision,omitempty"`
	Next     string       `json:"next"`
	Last     []firingJSON `json:"last"`
	Error    string       `json:"error,omitempty"`
}

type runningJSON struct {
	ID      string  `json:"id"`
	Kind    string  `json:"kind"`
	Seconds float64 `json:"seconds"`
}

type workerJSON struct {
	Name        string        `json:"worker"`
	State       string        `json:"state"`
	Host        string        `json:"host,omitempty"`
	PID         int           `json:"pid,omitempty"`
	Started     time.Time     `json:"started,omitzero"`
	Concurrency int           `json:"concurrency,omitempty"`
	Stuck       int           `json:"stuck,omitempty"`
	Held        int           `json:"jobs"`
	Lease       float64       `json:"lease_seconds"`
	Alone       string        `json:"alone,omitempty"`
	Queues      []string      `json:"queues"`
	Running     []runningJSON `json:"running"`
}

type queueStatusJSON struct {
	Name     string    `json:"queue"`
	High     int       `json:"high"`
	Normal   int       `json:"normal"`
	Low      int       `json:"low"`
	Delayed  int       `json:"delayed"`
	Active   int       `json:"active"`
	Dead     int       `json:"dead"`
	Finished int       `json:"finished"`
	Workers  int       `json:"workers"`
	Paused   bool      `json:"paused"`
	Oldest   float64   `json:"oldest_seconds"`
	NextDue  time.Time `json:"next_due,omitzero"`
	Done     int64     `json:"done_today"`
	Failed   int64     `json:"failed_today"`
	Error    string    `json:"error,omitempty"`
}

type findingJSON struct {
	Level  doctor.Level `json:"level"`
	Topic  string       `json:"topic"`
	Server string       `json:"server,omitempty"`
	Found  string       `json:"found"`
	Why    string       `json:"why,omitempty"`
	Change []string     `json:"change,omitempty"`
}

type doctorJSON struct {
	Redis    string        `json:"redis"`
	Problems int           `json:"problems"`
	Warnings int           `json:"warnings"`
	Unknown  int           `json:"unknown"`
	Findings []findingJSON `json:"findings"`
}

type rowJSON struct {
	Day      string `json:"day,omitempty"`
	Country  string `json:"country,omitempty"`
	Requests int64  `json:"requests"`
}

type summaryJSON struct {
	Lines      int64   `json:"lines"`
	Counted    int64   `json:"counted"`
	Unknown    int64   `json:"unknown_country"`
	Filtered   int64   `json:"filtered"`
	Expired    int64   `json:"expired"`
	Unparsable int64   `json:"unparsable"`
	Private    int64   `json:"private"`
	Crawlers   int64   `json:"crawlers"`
	Files      int64   `json:"files"`
	Partial    int64   `json:"partial"`
	Failed     int64   `json:"failed"`
	All        int64   `json:"all"`
	People     *int64  `json:"people"`
	PeopleBy   string  `json:"people_by"`
	Seconds    float64 `json:"seconds"`
}

type buildJSON struct {
	Build string `json:"build"`
	Lines int64  `json:"lines"`
}

type problemJSON struct {
	File    string `json:"file"`
	Note    string `json:"note"`
	Missing bool   `json:"missing"`
}

type resultJSON struct {
	Rows      []rowJSON     `json:"rows"`
	Summary   summaryJSON   `json:"summary"`
	Builds    []buildJSON   `json:"builds"`
	Problems  []problemJSON `json:"problems"`
	Abandoned []string      `json:"abandoned"`
	Moving    bool          `json:"moving,omitempty"`
}

type message struct {
	Chat   string    `json:"chat,omitempty"`
	ID     uint64    `json:"id"`
	Sender string    `json:"sender"`
	Text   string    `json:"message"`
	Base64 []byte    `json:"wantbase64,omitempty"` // instead of a text that is not UTF-8
	Type   string    `json:"type,omitempty"`
	URL    string    `json:"url,omitempty"`
	Time   time.Time `json:"time,omitzero"`
	Error  string    `json:"error,omitempty"` // why it can't be read
}

type dmPageJSON struct {
	Total    uint64    `json:"total"`
	Unread   uint64    `json:"unread"` // before this command
	Messages []message `json:"messages"`
}

type chatInfoJSON struct {
	Chat    string     `json:"chat"`
	Kind    group.Kind `json:"kind"`
	Created time.Time  `json:"created"`
	Members uint64     `json:"members"`
	Last    uint64     `json:"last"`
	Oldest  uint64     `json:"oldest"`
	Kept    uint64     `json:"kept"`
	Bytes   uint64     `json:"bytes"`

	Keep      uint64  `json:"keep,omitempty"`
	KeepBytes uint64  `json:"keep_bytes,omitempty"`
	KeepAge   float64 `json:"keep_age_seconds,omitempty"`
	DropAway  float64 `json:"drop_away_seconds,omitempty"`
}

type memberJSON struct {
	Member string    `json:"member"`
	Cursor uint64    `json:"cursor"`
	Unread uint64    `json:"unread"`
	Missed uint64    `json:"missed"`
	Seen   time.Time `json:"seen,omitzero"`
}
