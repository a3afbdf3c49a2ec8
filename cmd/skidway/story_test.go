package main

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"skidway/internal/processtest"
	"skidway/internal/redistest"
	"skidway/queue"
)

// A storyFixture has a schedule that ships the log files of yesterday, processes that
// count them, and a job that mails the report.
type storyFixture struct {
	*processes
	post  *mailServer
	files string    // folder of log files
	due   time.Time // when the schedule fires, once a year; set by schedule

	reports, mail *eventLog
}

// lead is the time until the schedule fires, in which its files are written and the
// running workers read it. A start of a worker can take longer than that.
const lead = 10 * time.Second

const nightConfig = `
revision: 1
worker: {lease: 1s, concurrency: 4}
queues:
  - name: reports
  - name: mail
kinds:
  email.send: {host: 127.0.0.1, port: %d, tls: none, from: logs@example.com}
  logs: {folders: [%q]}
`

const nightSchedule = `schedules:
  - name: nightly
    cron: %q
    job:
      queue: reports
      kind: logs.ship
      args: {channel: web, paths: [%q], subscribers: [countries]}
      then:
        - kind: logs.report
          args: {channel: web, subscriber: countries, day: yesterday}
          then:
            - queue: mail
              kind: email.send
              args: {to: ops@example.com, subject: "{{.result.lines}} lines", text: "{{.result.table}}"}
`

func newStoryFixture(t testing.TB) *storyFixture {
	t.Helper()
	n := &storyFixture{post: startMailServer(t), files: t.TempDir()}
	n.processes = newProcesses(t, n.settings())
	n.reports, n.mail = n.eventLog("reports"), n.eventLog("mail")
	return n
}

func (n *storyFixture) settings() string { return fmt.Sprintf(nightConfig, n.post.port, n.files) }

// schedule has the running workers read the schedule, whose files it writes, and returns
// the expected report.
func (n *storyFixture) schedule() (report string) {
	n.Helper()
	n.due = time.Now().UTC().Add(lead).Truncate(time.Second)
	report = n.log()
	n.configure(n.settings() + fmt.Sprintf(nightSchedule, n.due.Format("5 4 15 2 1 *"), filepath.Join(n.files, "*-%Y%m%d.log*")))
	for _, p := range n.workers {
		p.Signal(syscall.SIGHUP)
		p.Await("new configuration")
	}
	return report
}

// countries has an address of each country.
var countries = map[string]string{"NL": "193.0.6.139", "US": "8.8.8.8", "ZZ": "10.0.0.1"}

// log writes the files of three machines and three days, and returns the expected
// report of the day before the schedule fires.
func (n *storyFixture) log() (report string) {
	n.Helper()
	requests := map[string]int{}
	for back := range 3 {
		day := n.due.AddDate(0, 0, -back)
		for machine, extension := range []string{".log", ".log.gz", ".log.zst"} {
			var text strings.Builder
			for i, country := range slices.Sorted(maps.Keys(countries)) {
				lines := 1000*(back+1) + 100*machine + i
				text.WriteString(strings.Repeat(fmt.Sprintf("%s - - [%s +0000] \"GET /%d HTTP/1.1\" 200 12 \"-\" \"-\"\n",
					countries[country], day.Format("02/Jan/2006:15:04:05"), machine), lines))
				if back == 1 {
					requests[country] += lines
				}
			}
			write(n, n.files, fmt.Sprintf("www%d-%s%s", machine, day.Format("20060102"), extension), text.String())
		}
	}
	report = "day,country,requests\n"
	for _, country := range slices.Sorted(maps.Keys(requests)) {
		report += fmt.Sprintf("%s,%s,%d\n", n.due.AddDate(0, 0, -1).Format(time.DateOnly), country, requests[country])
	}
	return report
}

// count starts a process that counts.
func (n *storyFixture) count() *processtest.Process {
	n.Helper()
	return n.watched("logs", "work", "--channel", "web", "--subscriber", "countries", "--lease", "1s", "--redis", n.url)
}

func TestNightlyReportIsMailedOnceThoughAWorkerIsKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(n *storyFixture) (counters []*processtest.Process)
		mails   int // zero: any number
	}{
		"while it ships":     {killedShipping, 1},
		"while it mails":     {killedMailing, 2}, // the server's reply to the first one was lost
		"at any two moments": {killedAnyTime, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newStoryFixture(t)
			n.worker()
			n.worker()
			report := n.schedule()
			counters := c.happens(n)
			for range 3 { // shipping, reporting, forwarding to the other queue
				n.reports.until(queue.EventSucceeded)
			}
			n.mail.until(queue.EventSucceeded)
			n.checkMails(c.mails, report)
			n.checkCounts(report)
			n.settled("reports", 3)
			n.settled("mail", 1)
			for _, p := range counters {
				p.Signal(interrupt)
				p.End()
			}
			n.stop()
		})
	}
}

// killedShipping kills the worker that has shipped a file and waits for its count.
func killedShipping(n *storyFixture) []*processtest.Process {
	close(n.post.answer)
	ship := n.reports.until(queue.EventEnqueued)
	n.untilLogged(ship, "shipped")
	n.kill(n.holder(ship))
	n.worker()
	return []*processtest.Process{n.count(), n.count()}
}

// killedMailing kills a worker whose message the mail server has received but not
// confirmed.
func killedMailing(n *storyFixture) []*processtest.Process {
	counters := []*processtest.Process{n.count(), n.count()}
	mail := n.mail.until(queue.EventEnqueued)
	n.post.awaitOne(n)
	n.kill(n.holder(mail))
	close(n.post.answer)
	n.worker()
	return counters
}

// killedAnyTime kills a random worker twice while the jobs of the story run.
func killedAnyTime(n *storyFixture) []*processtest.Process {
	random := redistest.Random(n)
	close(n.post.answer)
	counters := []*processtest.Process{n.count(), n.count()}
	n.reports.until(queue.EventEnqueued)
	for range 2 {
		<-time.After(time.Duration(random.Int64N(int64(time.Second))))
		n.kill(n.workers[random.IntN(len(n.workers))])
		n.worker()
	}
	return counters
}

// checkMails expects want copies of one mail.
func (n *storyFixture) checkMails(want int, report string) {
	n.Helper()
	mails := n.post.received()
	if len(mails) == 0 || want > 0 && len(mails) != want {
		n.Errorf("%d mails reached the server, want %d (zero: any number)", len(mails), want)
	}
	for _, mail := range mails {
		if mail.id == "" || mail.id != mails[0].id {
			n.Errorf("the Message-ID %q, want that of the first mail, %q", mail.id, mails[0].id)
		}
		table := ""
		for line := range strings.Lines(strings.TrimSpace(mail.text)) {
			table += strings.Join(strings.Fields(line), ",") + "\n"
		}
		if !strings.EqualFold(table, report) {
			n.Errorf("the mail has the table\n%s\nwant\n%s", table, report)
		}
	}
}

// checkCounts expects exact counts.
func (n *storyFixture) checkCounts(report string) {
	n.Helper()
	o := n.must("logs", "report", "--channel", "web", "--subscriber", "countries", "-o", "csv")
	if o.stdout != report {
		n.Errorf("counted\n%s\nwant\n%s", o.stdout, report)
	}
	hasLine(n, o.stderr, "unparsable=0 files=3")
}

// settled expects that no job of a queue is left, and that this many were added and
// done.
func (d *fixture) settled(name string, jobs int64) {
	d.Helper()
	q, err := d.client.Queue(name)
	if err != nil {
		d.Fatal(err)
	}
	depth, err := q.Depth(d.Context())
	if err != nil {
		d.Fatal(err)
	}
	if left := depth.Waiting + depth.Active + depth.Delayed + depth.Dead; left > 0 {
		d.Errorf("queue %s has %d jobs left: %+v", name, left, depth)
	}
	total, _, err := q.Counters(d.Context(), 0)
	if err != nil {
		d.Fatal(err)
	}
	if total.Enqueued != jobs || total.Succeeded != jobs {
		d.Errorf("queue %s has %+v, want %d enqueued and done", name, total, jobs)
	}
}
