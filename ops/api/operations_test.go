package api_test

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"skidway/internal/handle"
	"skidway/ops/access"
	"skidway/ops/api"
)

// ended waits until an operation has ended.
func (f *fixture) ended(id string) (op api.Operation) {
	f.Helper()
	for deadline := time.Now().Add(20 * time.Second); time.Now().Before(deadline); {
		op = into[api.Operation](f.do("GET", "/operations/"+id, nil, 200))
		if op.Status != "running" {
			return op
		}
	}
	f.Fatalf("%+v", op)
	return op
}

func TestOperationChangesTheJobsThatWereCounted(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.die("mail", "news", `1`, `2`, `3`)
	const retry = `"action":"retry","state":"dead","match":"error contains \"timeout\""`
	asked := into[api.Question](f.do("POST", "/queues/mail/operations", `{`+retry+`,"dry_run":true}`, 200))
	if asked.Count != 3 || asked.AtLeast || asked.AsOf.IsZero() || asked.Queue != "mail" || asked.LookedAt != 3 || asked.Total != 3 {
		t.Errorf("%+v", asked)
	}
	f.die("mail", "news", `4`)
	a := f.do("POST", "/queues/mail/operations", `{`+retry+`,"count":3,"as_of":"`+asked.AsOf.Format(time.RFC3339Nano)+`"}`, 202)
	op := into[api.Operation](a)
	if a.Header.Get("Location") != "/api/v1/operations/"+op.ID || op.By != "token robot" {
		t.Errorf("%q %+v", a.Header.Get("Location"), op)
	}
	if op = f.ended(op.ID); op.Status != "done" || op.Changed != 3 {
		t.Errorf("%+v", op)
	}
	if depth := f.depth("mail"); depth.Waiting != 3 || depth.Dead != 1 {
		t.Errorf("%+v", depth)
	}
	keys := f.db.Keys(f.Context(), f.db.Prefix()+":*operations").Val()
	f.must(f.db.ZAdd(f.Context(), keys[0], redis.Z{Score: 1, Member: "malformed"}).Err())
	list := into[api.List[api.Operation]](f.do("GET", "/operations", nil, 200))
	if len(list.Items) != 1 || list.Items[0].ID != op.ID {
		t.Errorf("%+v", list)
	}
	if others := into[api.List[api.Operation]](f.as("view:web").do("GET", "/operations", nil, 200)); len(others.Items) != 0 {
		t.Errorf("%+v", others)
	}
	f.do("POST", "/operations/"+op.ID+"/continue", nil, 409).problem("ended")
	f.do("GET", "/operations/mail:0:none", nil, 404).problem("not-found")
	old := time.Now().Add(-time.Hour).UTC().Format(time.RFC3339)
	f.do("POST", "/queues/mail/operations", `{`+retry+`,"count":3,"as_of":"`+old+`"}`, 409).problem("question-expired")
}

func TestOperationIsStoppedAndContinued(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.die("mail", "news", `1`, `2`, `3`, `4`, `5`, `6`, `7`, `8`, `9`) // at one a second, so that a busy machine finds them running
	op := into[api.Operation](f.do("POST", "/queues/mail/operations", `{"action":"retry","state":"dead","rate":1}`, 202))
	if p := f.do("POST", "/queues/mail/operations", `{"action":"retry","state":"dead"}`, 409).problem("running"); p.Operation != op.ID {
		t.Errorf("%+v", p)
	}
	if op = into[api.Operation](f.do("POST", "/operations/"+op.ID+"/stop", nil, 200)); op.Status != "stopped" {
		t.Errorf("%+v", op)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		rows := into[api.List[api.AuditEntry]](f.do("GET", "/audit", nil, 200)).Items
		if slices.ContainsFunc(rows, func(e api.AuditEntry) bool {
			return e.Outcome == "operation "+op.ID+" was stopped" && e.Count == op.Changed
		}) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the audit of %+v has %+v", op, rows)
		}
	}
	f.do("POST", "/operations/"+op.ID+"/continue", nil, 202)
	f.handler.Close()
	if depth := f.depth("mail"); depth.Dead == 0 {
		t.Errorf("%+v", depth)
	}
	f.do("POST", "/queues/mail/purge", `{"all":true}`, 409).problem("running")
	f.do("POST", "/operations/"+op.ID+"/stop", nil, 200)
	f.do("POST", "/operations/"+op.ID+"/continue", nil, 503).problem("stopping")
}

func TestPurgeAndDeletionNeedAdmin(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.add("mail", "news", `1`)
	operator := f.as("view:*", "operate:*", "enqueue:*")
	operator.do("POST", "/queues/mail/operations", `{"action":"delete","state":"waiting"}`, 403).problem("forbidden")
	operator.do("POST", "/queues/mail/purge", nil, 403).problem("forbidden")
	if asked := into[api.Question](f.do("POST", "/queues/mail/purge", `{"dry_run":true}`, 200)); asked.Count != 1 {
		t.Errorf("%+v", asked)
	}
	op := into[api.Operation](f.do("POST", "/queues/mail/purge", `{"all":true}`, 202))
	if op = f.ended(op.ID); op.Status != "done" || op.Changed != 1 || op.Action != "delete" {
		t.Errorf("%+v", op)
	}
}

func TestJobsAreChangedByIDs(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ids := f.die("mail", "news", `1`, `2`)
	waiting := f.add("mail", "news", `3`)
	results := into[api.IDResults](f.do("POST", "/queues/mail/operations", map[string]any{"action": "retry", "ids": append(ids, waiting)}, 200)).Results
	if len(results) != 3 || results[0].Problem != nil || results[2].Problem == nil || results[2].Problem.Name() != "wrong-state" {
		t.Errorf("%+v", results)
	}
	if rows := into[api.List[api.AuditEntry]](f.do("GET", "/audit", nil, 200)).Items; len(rows) != 2 || rows[0].Outcome != "1 of 3 jobs failed, the others are done" || rows[0].Count != 2 || rows[1].Count != 3 {
		t.Errorf("the audit has %+v", rows)
	}
	f.do("POST", "/queues/mail/operations", `{"action":"retry","ids":["other:0:n1-1"]}`, 400).problem("invalid")
	f.do("POST", "/queues/mail/operations", map[string]any{"action": "retry", "ids": ids, "rate": 1}, 400).problem("invalid")
	f.do("POST", "/queues/mail/operations", `{"action":"sing","state":"dead"}`, 400).problem("invalid")
	f.do("POST", "/queues/none/operations", `{"action":"retry","state":"dead"}`, 404).problem("no-queue")
}

func TestMoreThanAHundredIDsAreAnOperation(t *testing.T) {
	t.Parallel()
	f := setup(t)
	var ids []string
	for range 101 {
		ids = append(ids, f.add("mail", "news", `1`))
	}
	body := map[string]any{"action": "cancel", "ids": ids, "rate": 100000}
	dry := map[string]any{"action": "cancel", "ids": ids, "dry_run": true}
	if asked := into[api.Question](f.do("POST", "/queues/mail/operations", dry, 200)); asked.Count != 101 || asked.State != "" {
		t.Errorf("%+v", asked)
	}
	r := f.request("POST", "/api/v1/queues/mail/operations", body)
	r.Header.Set("Idempotency-Key", "k")
	op := into[api.Operation](f.send(r, 202))
	if op = f.ended(op.ID); op.Status != "done" || op.Changed != 101 || op.Count != 101 || op.Match != "" {
		t.Errorf("%+v", op)
	}
	r = f.request("POST", "/api/v1/queues/mail/operations", body)
	r.Header.Set("Idempotency-Key", "k")
	if again := into[api.Operation](f.send(r, 200)); again.ID != op.ID {
		t.Errorf("repeated: %+v", again)
	}
	if listed := into[api.List[api.Operation]](f.do("GET", "/operations", nil, 200)).Items; len(listed) != 1 || listed[0].ID != op.ID {
		t.Errorf("%+v", listed)
	}
	var rows []api.AuditEntry
	for deadline := time.Now().Add(20 * time.Second); len(rows) < 2 && time.Now().Before(deadline); { // the latest entry follows the end
		rows = into[api.List[api.AuditEntry]](f.do("GET", "/audit", nil, 200)).Items
	}
	if len(rows) != 2 || rows[0].Count != 101 || rows[1].Count != 101 || !strings.HasPrefix(rows[1].Filter, "ids: "+ids[0]) {
		t.Errorf("the audit has %+v", rows)
	}
	for name, wrong := range map[string]map[string]any{
		"a filter too":  {"action": "cancel", "ids": ids, "match": "kind == 'a'"},
		"another queue": {"action": "cancel", "ids": append(slices.Clone(ids), "other:0:n1-1")},
		"one twice":     {"action": "cancel", "ids": append(slices.Clone(ids), ids[0])},
		"too many":      {"action": "cancel", "ids": slices.Repeat(ids, 10)},
		"wrong state":   {"action": "cancel", "ids": ids, "state": "dead"},
	} {
		if p := f.do("POST", "/queues/mail/operations", wrong, 400).problem("invalid"); p.Detail == "" {
			t.Errorf("%s: %+v", name, p)
		}
	}
	f.as("operate:mail").do("POST", "/queues/mail/operations", map[string]any{"action": "delete", "ids": ids}, 403)
}

func TestChangesThatTellWhatIsInJobsNeedView(t *testing.T) {
	t.Parallel()
	f := setup(t)
	id := f.die("mail", "news", `1`)[0]
	blind := f.as("operate:*", "enqueue:*", "admin:*")
	blind.do("POST", "/jobs/"+id+"/copy", nil, 403).problem("forbidden")
	for _, end := range []string{`,"dry_run":true}`, `}`} {
		blind.do("POST", "/queues/mail/operations", `{"action":"retry","state":"dead","match":"kind == \"news\""`+end, 403).problem("forbidden")
	}
	blind.do("POST", "/queues/mail/operations", `{"action":"retry","state":"dead","dry_run":true}`, 200)
}

func TestQuestionsHaveBothCountAndTime(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.die("mail", "news", `1`)
	now := time.Now().UTC().Format(time.RFC3339)
	for path, bodies := range map[string][]string{
		"/queues/mail/operations": {`{"action":"retry","state":"dead","as_of":"` + now + `"}`, `{"action":"retry","state":"dead","count":1}`},
		"/queues/mail/purge":      {`{}`, `{"as_of":"` + now + `"}`, `{"count":1}`, `{"state":"dead"}`, `{"all":true,"count":1,"as_of":"` + now + `"}`},
	} {
		for _, body := range bodies {
			if p := f.do("POST", path, body, 400).problem("invalid"); p.Field != "count" {
				t.Errorf("%s %s: %+v", path, body, p)
			}
		}
	}
	early := `"count":1,"as_of":"` + time.Now().Add(time.Hour).UTC().Format(time.RFC3339) + `"}`
	for path, body := range map[string]string{"/queues/mail/operations": `{"action":"retry","state":"dead",` + early, "/queues/mail/purge": `{"state":"dead",` + early} {
		if p := f.do("POST", path, body, 400).problem("invalid"); p.Field != "as_of" || !strings.Contains(p.Detail, "still to come") {
			t.Errorf("%s %s: %+v", path, body, p)
		}
	}
	f.do("POST", "/queues/mail/purge", nil, 415).problem("wrong-type")
	if depth := f.depth("mail"); depth.Dead != 1 {
		t.Errorf("%+v", depth)
	}
}

func TestOnlyKnownActionsAreAudited(t *testing.T) {
	t.Parallel()
	f := setup(t)
	ids := f.die("mail", "news", `1`, `2`)
	audit := access.NewAudit(handle.New(f.db), slog.New(slog.DiscardHandler))
	asOf := `"as_of":"` + time.Now().UTC().Format(time.RFC3339) + `"`
	f.do("POST", "/queues/mail/operations", `{"action":"paid by bob","state":"dead","count":1,`+asOf+`}`, 400)
	if entries, _, err := audit.List(t.Context(), "", 10); err != nil || len(entries) != 0 {
		t.Errorf("the audit has %+v, %v", entries, err)
	}
	f.do("POST", "/queues/mail/operations", map[string]any{"action": "retry", "ids": ids}, 200)
	if entries, _, err := audit.List(t.Context(), "", 10); err != nil || len(entries) != 2 || entries[0].Filter != "ids: "+ids[0]+" "+ids[1] {
		t.Errorf("the audit has %+v, %v", entries, err)
	}
}
