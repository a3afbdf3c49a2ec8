package dash_test

import (
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/delayed"
	"skidway/distribute"
	"skidway/distribute/chat/group"
	"skidway/internal/browsertest"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/ops/access"
	"skidway/queue"
)

// hostile is a text that would run as a script, if it were not escaped.
const hostile = `"><img src=x onerror="window.hit=1"><script>window.hit=1</script>`

// of returns a hostile text that names the field of Redis in which it is.
func of(field string) string { return "(" + field + ")" + hostile }

// storedJob returns a job with fields as Redis has it.
func storedJob(fields ...string) string {
	record := "2n"
	for i := 0; i+1 < len(fields); i += 2 {
		record += fmt.Sprintf("%d:%s%d:%s", len(fields[i]), fields[i], len(fields[i+1]), fields[i+1])
	}
	return record
}

// marshal returns a value as JSON.
func (f *fixture) marshal(value any) string {
	f.Helper()
	text, err := json.Marshal(value)
	f.must(err)
	return string(text)
}

// poison writes hostile texts into Redis wherever a program can write one that Skidway did not check, and returns the
// fields that each page must show.
func (f *fixture) poison() map[string][]string {
	f.Helper()
	ctx, prefix := f.Context(), f.redis.Prefix()
	mail := prefix + ":{mail:0}:"
	f.add("mail", "email.send", `{}`, queue.Options{})
	now := time.Now()
	f.must(f.redis.HSet(ctx, mail+"dead:jobs", "d1", storedJob("kind", "email.send", "args", of("args"), "headers", f.marshal(map[string]string{of("header"): of("value")}),
		"errors", f.marshal([]queue.Failure{{Attempt: 1, Time: now, Error: of("error")}}), "failures", f.marshal([]map[string]any{{"attempt": 1, "worker": of("worker"), "stack": of("stack")}}), "reason", of("reason"), "unique", of("unique"), "group", of("group"),
		"then", f.marshal([]map[string]any{{"kind": of("then"), "args": of("next"), "queue": of("to")}}))).Err())
	f.must(f.redis.ZAdd(ctx, mail+"dead", redis.Z{Score: float64(now.UnixMilli()), Member: "d1"}).Err())
	f.must(f.redis.HSet(ctx, mail+"results:jobs", "d2", storedJob("kind", "email.send", "args", "{}", "outcome", of("ended"), "result", of("result"))).Err())
	f.must(f.redis.ZAdd(ctx, mail+"results", redis.Z{Score: float64(now.Add(time.Hour).UnixMilli()), Member: "d2"}).Err())
	kind, err := f.redis.XAdd(ctx, &redis.XAddArgs{Stream: mail + "2:normal:fresh", Values: []any{"kind", of("kind"), "args", "{}"}}).Result()
	f.must(err)
	active := f.hold("docs", "email.send")
	f.must(f.redis.HSet(ctx, prefix+":{docs:0}:progress", strings.TrimPrefix(active.ID, "docs:0:"), of("progress")).Err())
	f.must(f.redis.HSet(ctx, prefix+":{docs:0}:logs", strings.TrimPrefix(active.ID, "docs:0:"), of("log")+"\n").Err())
	paused, err := f.queues.Queue("docs")
	f.must(err)
	f.must(paused.Pause(ctx, of("by"), of("note")))
	f.must(f.redis.HSet(ctx, prefix+":{queues}:pools", of("pool"), f.marshal(queue.PoolInfo{Host: of("host"), Queues: []string{"mail", of("served")}, Kinds: []string{of("handled")}, Concurrency: 2, State: of("state"), Version: of("version")})).Err())
	f.must(f.redis.ZAdd(ctx, prefix+":{queues}:pools:expiry", redis.Z{Score: float64(now.Add(time.Minute).UnixMilli()), Member: of("pool")}).Err())
	f.count("mail", of("counted kind"), of("counted error"), 3, 1)

	client, err := ops.NewClient(f.queues, nil)
	f.must(err)
	asked, err := client.Operations().Ask(ctx, ops.Change{Queue: "mail", Do: "cancel", State: queue.Waiting, By: of("asker")})
	f.must(err)
	run, err := client.Operations().Begin(ctx, asked)
	f.must(err)
	f.must(f.redis.HSet(ctx, mail+"operation:"+strings.TrimPrefix(run.Operation.ID, "mail:0:"), "error", of("operation"), "match", of("match"), "do", of("do")).Err())
	f.must(f.audit.Record(ctx, access.Entry{Who: of("who"), Action: of("action"), Queue: of("queue"), Filter: of("filter"), Outcome: of("outcome"), From: of("from")}))
	f.must(f.redis.HSet(ctx, mail+"schedules", of("schedule"), of("record")).Err())
	_, err = delayed.AddSchedule(ctx, f.queues, queue.CronSchedule{Name: "nightly", Queue: "mail", Expr: "@daily", Kind: "report", Args: []byte(of("of it"))})
	f.must(err)
	f.must(f.redis.HSet(ctx, prefix+":{queues}:pools", of("gone"), f.marshal(queue.PoolInfo{Host: of("gone host"), Queues: []string{"mail"}, Version: of("gone version")})).Err())
	f.must(f.redis.ZAdd(ctx, prefix+":{queues}:pools:expiry", redis.Z{Score: float64(now.Add(-time.Minute).UnixMilli()), Member: of("gone")}).Err())
	f.must(f.redis.SAdd(ctx, prefix+":{queues}", of("name")).Err())
	f.must(f.redis.ZAdd(ctx, prefix+":{queues}:used", redis.Z{Score: float64(now.UnixMilli()), Member: of("name")}).Err())

	channel, err := distribute.Open(ctx, f.queues.DB(), "web")
	f.must(err)
	f.must(channel.Subscribe(ctx, "countries", ""))
	f.countRequest(channel, "8.8.8.8")
	counts := prefix + ":logs:{web}:subscriber:countries:"
	days, err := f.redis.ZRange(ctx, counts+"days", 0, 0).Result()
	f.must(err)
	f.must(f.redis.ZAdd(ctx, counts+"count:"+days[0], redis.Z{Score: 5, Member: of("country")}).Err())
	f.must(channel.Subscribe(ctx, "other", of("settings")))
	file := filepath.Join(f.TempDir(), `(file)"><img src=x onerror="window.hit=1">.log`)
	f.must(os.WriteFile(file, []byte("a line\n"), 0o600))
	_, err = distribute.NewShipper(channel, nil).Ship(ctx, []string{file})
	f.must(err)
	f.must(f.redis.HSet(ctx, prefix+":logs:{web}:subscribers", of("subscriber"), of("its settings")).Err())
	f.must(f.redis.Copy(ctx, prefix+":logs:{web}", prefix+":logs:{"+of("channel")+"}", 0, false).Err())
	f.must(f.redis.ZAdd(ctx, prefix+":logs:channels", redis.Z{Score: 1, Member: of("channel")}).Err())
	chat, err := group.NewClient(f.queues.DB()).Create(ctx, of("chat"), &group.CreateOptions{Members: []string{of("member")}})
	f.must(err)

	return map[string][]string{
		"/": {"by", "note"}, "/queues": {}, "/queues/mail": {"counted kind", "counted error"}, "/queues/docs": {"by", "note"},
		"/jobs/mail:0:d1": {"args", "header", "value", "error", "worker", "stack", "reason", "unique", "then"}, "/jobs/mail:0:d2": {"ended", "result"}, "/jobs/mail:0:n" + kind: {"kind"}, "/jobs/" + active.ID: {"progress", "log"},
		"/jobs/mail:0:d1/copy": {"args"}, "/jobs?queue=mail&state=dead": {"args", "reason"}, "/jobs?queue=mail&state=waiting": {"kind"}, "/jobs?state=finished&queue=mail": {},
		"/errors": {"counted kind", "counted error"}, "/workers": {"pool", "host", "served", "state", "version", "gone"}, "/operations": {"operation", "match", "asker"}, "/audit": {"who", "action", "queue", "filter", "outcome", "from"},
		"/schedules?queue=mail": {"schedule"}, "/schedules/edit?queue=mail&name=nightly": {"of it"}, "/channels": {"file", "settings", "subscriber", "its settings"}, "/counts?channel=web&subscriber=countries": {"country"}, "/enqueue": {}, "/redis": {}, "/settings": {},
		"/chats?chat=" + url.QueryEscape(chat): {"chat", "member"}, "/chats?member=" + url.QueryEscape(of("member")): {"chat"},
		"/jobs/question?do=retry&state=dead&queue=mail&id=mail:0:d1": {}, "/jobs/question?do=delete&all=1&state=dead&queue=mail&match=" + url.QueryEscape(`kind == "`+`(typed)<img>"`): {},
	}
}

// hold makes a worker hold a new job.
func (f *fixture) hold(name, kind string) *queue.Job {
	f.Helper()
	f.add(name, kind, `{}`, queue.Options{})
	pool, err := f.queues.ForPool(name)
	f.must(err)
	lease, err := pool.NewLease("w.1", time.Hour)
	f.must(err)
	fetched, err := lease.Fetch(f.Context(), queue.FetchLimits{Jobs: 1, Bytes: 1000})
	f.must(err)
	return fetched.Jobs[0]
}

// elements matches what a hostile text would be if it were not escaped, in an element or in an attribute.
var elements = regexp.MustCompile(`<img|<script>|" ?onerror=|\([a-z ]+\)">`)

func TestTextsOfRedisStayTexts(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	pages := f.poison()
	f.awaitQueues()
	for path, fields := range pages {
		page := f.get(path)
		f.want(page, http.StatusOK)
		if found := elements.FindStringIndex(page.body); found != nil {
			t.Errorf("%s: a text has become HTML: %s", path, page.body[max(0, found[0]-200):min(len(page.body), found[1]+100)])
		}
		for _, field := range fields {
			if shown := template.HTMLEscapeString("(" + field + `)"><img src=x`); !strings.Contains(page.body, shown) {
				_, main, _ := strings.Cut(page.body, "<main")
				main, _, _ = strings.Cut(main, "</main>")
				t.Errorf("%s does not show %s: %s", path, shown, main)
			}
		}
	}
}

// testHostile opens the pages with hostile texts, whose streams set them again.
func testHostile(t *testing.T, ctx context.Context) {
	f := setup(t, redistest.DB(t))
	pages := f.poison()
	f.awaitQueues()
	b := f.open(ctx)
	b.theme("light")
	for path := range pages {
		b.visit(path, 320)
		b.Wait(`document.readyState === "complete" && (!document.body.dataset.live || !first)`) // all live values are set once
		if browsertest.Value[bool](b.Tab, `window.hit === 1 || document.querySelector("main img, main script") !== null`) {
			t.Errorf("%s: a text from Redis has become HTML", path)
		}
		b.Fits(path)
		b.Calm(path)
	}
}

func TestExportsQuoteWhatLooksLikeAFormula(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	mail := f.redis.Prefix() + ":{mail:0}:"
	f.add("mail", "email.send", `=cmd|'/c calc'!A1`, queue.Options{})
	f.add("mail", "email.send", `{"n":9007199254740993}`, queue.Options{})
	for i, start := range []string{"=", "+", "-", "@", "\t"} {
		for n, record := range []string{storedJob("kind", "email.send", "args", start+"args", "reason", start+"1+cmd"), storedJob("kind", start+"kind", "args", "{}")} {
			id := fmt.Sprint("d", 1+2*i+n)
			f.must(f.redis.HSet(t.Context(), mail+"dead:jobs", id, record).Err())
			f.must(f.redis.ZAdd(t.Context(), mail+"dead", redis.Z{Score: float64(i + 1), Member: id}).Err())
		}
	}
	waiting := f.get("/jobs/export?queue=mail&format=csv")
	f.want(waiting, http.StatusOK, "id,queue,state,kind", ",'=cmd|'/c calc'!A1", `"{""n"":9007199254740993}"`)
	if waiting.Header.Get("Content-Disposition") != `attachment; filename="jobs.csv"` {
		t.Errorf("the headers are %v", waiting.Header)
	}
	rows, err := csv.NewReader(strings.NewReader(f.get("/jobs/export?queue=mail&state=dead&format=csv").body)).ReadAll()
	f.must(err)
	quoted := 0
	for _, row := range rows {
		for _, cell := range row {
			if cell != "" && strings.ContainsRune("=+-@\t", rune(cell[0])) {
				t.Errorf("a cell is %q", cell)
			}
			if strings.HasPrefix(cell, "'") {
				quoted++
			}
		}
	}
	if quoted != 3*5 { // args, errors and kinds
		t.Errorf("%d cells are quoted: %q", quoted, rows)
	}
	lines := f.get("/jobs/export?queue=mail&format=ndjson")
	f.want(lines, http.StatusOK, `"args":{"n":9007199254740993}`, `"args":"=cmd|'/c calc'!A1"`)
	if strings.Count(lines.body, "\n") != 2 {
		t.Errorf("the lines are %s", lines.body)
	}
	f.want(f.get("/jobs/export?queue=mail&format=xml"), http.StatusBadRequest)
}
