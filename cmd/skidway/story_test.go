package main

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/internal/processtest"
	"skidway/queue"
)

// A night is one in which the story happens: a schedule ships yesterday's log
// files, processes count them, and a report of that is mailed.
type night struct {
	*processes
	post  *mailServer
	files string    // folder of log files
	due   time.Time // when the schedule fires, once a year

	reports, mail *eventLog
}

// lead is how long before the schedule fires its workers are started.
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
schedules:
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

func newNight(t testing.TB) *night {
	t.Helper()
	n := &night{post: startMailServer(t), files: t.TempDir(), due: time.Now().UTC().Add(lead).Truncate(time.Second)}
	n.processes = newProcesses(t, fmt.Sprintf(nightConfig, n.post.port, n.files,
		n.due.Format("5 4 15 2 1 *"), filepath.Join(n.files, "*-%Y%m%d.log*")))
	n.reports, n.mail = n.eventLog("reports"), n.eventLog("mail")
	return n
}

// countries have an address each.
var countries = map[string]string{"NL": "193.0.6.139", "US": "8.8.8.8", "ZZ": "10.0.0.1"}

// log writes the files of three machines and of three days, and gives what is to
// be reported of the day before the schedule fires, as CSV and as table.
func (n *night) log() (report string) {
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
func (n *night) count() *processtest.Process {
	n.Helper()
	return n.watched("logs", "work", "--channel", "web", "--subscriber", "countries", "--lease", "1s", "--redis", n.url)
}

func TestNightlyReportIsMailedOnceThoughAWorkerIsKilled(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		happens func(n *night) (counters []*processtest.Process)
		mails   int // zero: any number
	}{
		"while it ships":     {killedShipping, 1},
		"while it mails":     {killedMailing, 2}, // of the first one the server's answer was lost
		"at any two moments": {killedAnyTime, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNight(t)
			report := n.log()
			n.worker()
			n.worker()
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

// killedShipping kills the worker that has shipped a file and waits until
// somebody counts it.
func killedShipping(n *night) []*processtest.Process {
	close(n.post.answer)
	ship := n.reports.until(queue.EventEnqueued)
	n.untilLogged(ship, "shipped")
	n.kill(n.holder(ship))
	n.worker()
	return []*processtest.Process{n.count(), n.count()}
}

// killedMailing kills the worker whose message the mail server has taken and not
// answered.
func killedMailing(n *night) []*processtest.Process {
	counters := []*processtest.Process{n.count(), n.count()}
	mail := n.mail.until(queue.EventEnqueued)
	n.post.awaitOne(n)
	n.kill(n.holder(mail))
	close(n.post.answer)
	n.worker()
	return counters
}

// killedAnyTime kills some worker or other, twice while the jobs of the story run.
func killedAnyTime(n *night) []*processtest.Process {
	seed := rand.Uint64()
	n.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
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

// checkMails wants so many mails, all of them the same one.
func (n *night) checkMails(want int, report string) {
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

// checkCounts wants exact counts.
func (n *night) checkCounts(report string) {
	n.Helper()
	o := n.must("logs", "report", "--channel", "web", "--subscriber", "countries", "-o", "csv")
	if o.stdout != report {
		n.Errorf("counted\n%s\nwant\n%s", o.stdout, report)
	}
	hasLine(n, o.stderr, "unparsable=0 files=3")
}

// settled wants no job of a queue to be left, and so many to have been added and
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
	if left := depth.Waiting.Total() + depth.Active.Total() + depth.Delayed + depth.Dead; left > 0 {
		d.Errorf("queue %s has %d jobs left: %+v", name, left, depth)
	}
	counters, err := q.Counters(d.Context(), 0)
	if err != nil {
		d.Fatal(err)
	}
	if counters.Total.Enqueued != jobs || counters.Total.Succeeded != jobs {
		d.Errorf("queue %s has %+v, want %d enqueued and done", name, counters.Total, jobs)
	}
}
