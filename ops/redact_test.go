package ops_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"skidway/internal/handle"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/queue"
	"skidway/workers/stats"
)

// redacting returns a client that hides values.
func (f *fixture) redacting(redact ops.Redact) *ops.Client {
	f.Helper()
	client, err := ops.NewClient(f.queues, &ops.Config{Redact: redact})
	f.must(err)
	client.Unlimited()
	return client
}

func TestHiddenValues(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	byDefault := f.redacting(ops.Redact{Keys: ops.DefaultRedactKeys})
	withPatterns := f.redacting(ops.Redact{Keys: []string{"pin"}, Values: []string{`sk-[a-z]+`, `\b\d{16}\b`}})
	for _, c := range []struct {
		client     *ops.Client
		args, want string
	}{
		{byDefault, `{"to":"ada","password":"x"}`, `{"to":"ada","password":"[hidden]"}`},
		{byDefault, `{"PassWord" : "x\"y" , "n":1}`, `{"PassWord" : "[hidden]" , "n":1}`},
		{byDefault, `{"pass\u0077ord":"x"}`, `{"pass\u0077ord":"[hidden]"}`},
		{byDefault, `{"a":[{"b":{"token":{"x":["y","}"]},"z":1}}]}`, `{"a":[{"b":{"token":"[hidden]","z":1}}]}`},
		{byDefault, `{"secret":["a","]"],"secret":12.5e3,"api_key":null,"passwd":true}`, `{"secret":"[hidden]","secret":"[hidden]","api_key":"[hidden]","passwd":"[hidden]"}`},
		{byDefault, `{"passwords":"x","my_token":"x","token ":"x"}`, `{"passwords":"x","my_token":"x","token ":"x"}`},
		{byDefault, `{"a":"password","b":["token","x"]}`, `{"a":"password","b":["token","x"]}`},
		{byDefault, ` [{"Authorization":"Bearer x"}]`, ` [{"Authorization":"[hidden]"}]`},
		{byDefault, `{"password":"x`, `{"password":"[hidden]"`},
		{byDefault, `{"password":`, `{"password":"[hidden]"`},
		{byDefault, `{"password"`, `{"password"`},
		{byDefault, `password: x`, `password: x`},
		{byDefault, `"password"`, `"password"`},
		{byDefault, ``, ``},
		{withPatterns, `{"a":"key sk-abc!","n":1234567812345678,"m":12,"pin":1,"sk-xyz":2}`, `{"a":"key [hidden]!","n":"[hidden]","m":12,"pin":"[hidden]","sk-xyz":2}`},
		{withPatterns, `{"a":"s\u006b-abc"}`, `{"a":"[hidden]"}`},
		{withPatterns, `"sk-abc"`, `"[hidden]"`},
		{withPatterns, `1234567812345678`, `"[hidden]"`},
		{withPatterns, `key=sk-abc pin=1`, `key=[hidden] pin=1`},
		{withPatterns, "\xff\x00sk-abc", "\xff\x00[hidden]"},
	} {
		job := &queue.Job{Kind: "a", Args: []byte(c.args), Result: []byte(c.args)}
		view := c.client.Redactor().Job(job)
		if string(view.Args) != c.want || string(view.Result) != c.want {
			t.Errorf("%s\nis  %s\nand %s\nnot %s", c.args, view.Args, view.Result, c.want)
		}
		if string(job.Args) != c.args {
			t.Errorf("%s was changed to %s", c.args, job.Args)
		}
	}
	for _, values := range [][]string{{"("}, {"x*"}} {
		if _, err := ops.NewClient(f.queues, &ops.Config{Redact: ops.Redact{Values: values}}); !errors.Is(err, queue.ErrInvalid) {
			t.Errorf("pattern %v: %v", values, err)
		}
	}
}

func TestAllOfAJobIsHidden(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	client := f.redacting(ops.Redact{Keys: ops.DefaultRedactKeys, Values: []string{"sk-[a-z]+"}})
	args := queue.Raw("a", []byte(`{"password":"sk-a"}`))
	job := &queue.Job{
		Args: []byte(`{"password":"sk-a"}`), Result: []byte("sk-a"), Reason: "sk-a", Unique: queue.Unique{Key: "sk-a"},
		Headers: map[string]string{"Authorization": "sk-a", "x": "sk-a", "y": `{"token":"sk-a"}`},
		Errors:  []queue.Failure{{Error: "sk-a", Stack: "sk-a"}, {Error: `{"secret":"sk-a"}`}},
		Then:    []queue.NewJob{{Args: args, Options: queue.Options{Headers: map[string]string{"token": "sk-a"}, Then: []queue.NewJob{{Args: args}}}}},
	}
	view := client.Redactor().Job(job)
	text, err := json.Marshal(view)
	f.must(err)
	all := string(text) + string(view.Args) + string(view.Result) + view.Errors[0].Stack
	if strings.Contains(all, "sk-a") || strings.Count(all, ops.Hidden) != 13 {
		t.Errorf("the view is %s", all)
	}
	if job.Headers["x"] != "sk-a" || job.Errors[0].Error != "sk-a" || job.Then[0].Options.Headers["token"] != "sk-a" {
		t.Errorf("the job was changed: %+v", job)
	}
	s := queue.CronSchedule{Args: job.Args, Options: queue.Options{Headers: job.Headers, Then: job.Then}}
	if text, err := json.Marshal(client.Redactor().Schedule(s)); err != nil || bytes.Contains(text, []byte("sk-a")) {
		t.Errorf("the schedule is %s, %v", text, err)
	}
	if f.client.Redactor().Job(job) != job {
		t.Error("without configuration a job has another view")
	}
}

// TestSearchIsNoOracle asks for hidden values in every way that a filter has.
func TestSearchIsNoOracle(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	packing, err := queue.NewClient(handle.New(f.db), &queue.Config{PackFrom: 1000})
	f.must(err)
	client := f.redacting(ops.Redact{Keys: ops.DefaultRedactKeys, Values: []string{"sk-[a-z]+"}})
	args := `{"to":"ada","password":"hunter2","note":"sk-abc","pad":"` + strings.Repeat("x", 3000) + `"}`
	for _, queues := range []*queue.Client{f.queues, packing} { // plain and compressed
		_, err := queues.Enqueue(t.Context(), queue.Raw("a", []byte(args)), &queue.Options{Queue: "q", Headers: map[string]string{"token": "hunter2", "trace": "sk-abc"}})
		f.must(err)
	}
	for match, found := range map[string]int{
		`args.to == "ada"`: 2, `text contains "ada"`: 2, `args.password == "` + ops.Hidden + `"`: 2, `headers["trace"] == "` + ops.Hidden + `"`: 2,
		`args.password == "hunter2"`: 0, `args.password startsWith "h"`: 0, `args.password matches "^h"`: 0, `args.password >= "h" && args.password <= "i"`: 0,
		`text contains "hunter2"`: 0, `text matches "hun(ter2)"`: 0, `text contains "sk-abc"`: 0, `args.note in ["sk-abc"]`: 0,
		`headers["token"] == "hunter2"`: 0, `headers["trace"] contains "sk-abc"`: 0,
		`not (text contains "hunter2")`: 2,
	} {
		page, err := client.Search(t.Context(), "q", ops.SearchOptions{State: queue.Waiting, Match: match})
		f.must(err)
		if len(page.Jobs) != found {
			t.Errorf("%s finds %d jobs", match, len(page.Jobs))
		}
		for _, job := range page.Jobs {
			if text := string(job.Args) + job.Headers["token"] + job.Headers["trace"]; strings.Contains(text, "hunter2") || strings.Contains(text, "sk-abc") {
				t.Errorf("the search returns %.200s", text)
			}
			shown, err := client.Job(t.Context(), job.ID)
			f.must(err)
			revealed, err := client.Reveal(t.Context(), job.ID)
			f.must(err)
			if !bytes.Equal(shown.Args, job.Args) || string(revealed.Args) != args {
				t.Errorf("the job is %.200s, revealed %.200s", shown.Args, revealed.Args)
			}
		}
		asked, err := client.Operations().Ask(t.Context(), ops.Change{Queue: "q", Do: "delete", State: queue.Waiting, Match: match, By: "ada"})
		f.must(err)
		if asked.Count != found {
			t.Errorf("an operation on %s counts %d", match, asked.Count)
		}
	}
	if page, err := f.client.Search(t.Context(), "q", ops.SearchOptions{State: queue.Waiting, Match: `args.password == "hunter2"`}); err != nil || len(page.Jobs) != 2 {
		t.Errorf("a client that hides nothing finds %v, %v", page, err)
	}
}

func TestErrorsAreHidden(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	client := f.redacting(ops.Redact{Values: []string{"sk-[a-z]+"}})
	q, err := f.queues.Queue("q")
	f.must(err)
	_, err = f.queues.Enqueue(t.Context(), queue.Raw("a", nil), &queue.Options{Queue: "q"})
	f.must(err)
	collector := stats.NewCollector(stats.Config{Client: f.queues, Pool: "p"})
	collector.Counter(q).Add(func(yield func(stats.End) bool) {
		yield(stats.End{Job: &queue.Job{ID: "q:0:n1-0", Kind: "a"}, Disposition: queue.AttemptDead, Error: "key sk-abc is wrong", Took: time.Millisecond})
	})
	f.must(collector.Flush(t.Context()))
	groups, err := client.Errors(t.Context(), "q", "", 10)
	f.must(err)
	if len(groups) != 1 || groups[0].Error != "key [hidden] is wrong" || strings.Contains(groups[0].Shape, "sk-abc") {
		t.Errorf("groups %+v", groups)
	}
	view := client.Redactor().Job(&queue.Job{Reason: "key sk-abc is wrong"})
	if stats.Shape(view.Reason) != groups[0].Shape {
		t.Errorf("the shape of a job is %q, of the group %q", stats.Shape(view.Reason), groups[0].Shape)
	}
}

func TestEditedCopyKeepsHiddenValues(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	client := f.redacting(ops.Redact{Keys: ops.DefaultRedactKeys, Values: []string{"sk-[a-z]+"}})
	job := &queue.Job{Args: []byte(`{"to":"ada","n":12345678901234567890,"auth":{"password":"x"},"keys":["sk-a","sk-b"],"note":"key sk-c"}`)}
	view := string(client.Redactor().Job(job).Args)
	for edit, want := range map[string]string{
		view: string(job.Args),
		strings.Replace(view, `"ada"`, `"bob"`, 1):                          strings.Replace(string(job.Args), `"ada"`, `"bob"`, 1),
		strings.Replace(view, `{"password":"[hidden]"}`, `{}`, 1):           strings.Replace(string(job.Args), `{"password":"x"}`, `{}`, 1),
		strings.Replace(view, `{"password":"[hidden]"}`, `{"a":1}`, 1):      strings.Replace(string(job.Args), `{"password":"x"}`, `{"a":1}`, 1),
		strings.Replace(view, `"keys":["[hidden]",`, `"keys":["new",`, 1):   strings.Replace(string(job.Args), `"sk-a"`, `"new"`, 1),
		strings.Replace(view, `"to":"ada"`, `"to":"[hidden]"`, 1):           "",
		strings.Replace(view, `"[hidden]","[hidden]"`, `"[hidden]"`, 1):     "",
		strings.Replace(view, `"key [hidden]"`, `"my key [hidden]"`, 1):     "",
		strings.Replace(view, `"password":"[hidden]"`, `"a":"[hidden]"`, 1): "",
		`no JSON`: "",
	} {
		got, err := client.Redactor().Restore(job, []byte(edit))
		if want == "" {
			if !errors.Is(err, queue.ErrInvalid) {
				t.Errorf("%s: %s, %v", edit, got, err)
			}
			continue
		}
		f.must(err)
		if !sameJSON(t, got, []byte(want)) {
			t.Errorf("%s\nbecomes %s\nwant    %s", edit, got, want)
		}
	}
	plain := &queue.Job{Args: []byte("{}")}
	if got, err := client.Redactor().Restore(plain, []byte(`{"a":"[hidden]"}`)); err != nil || string(got) != `{"a":"[hidden]"}` {
		t.Errorf("a job without hidden values becomes %s, %v", got, err)
	}
}

func sameJSON(t testing.TB, a, b []byte) bool {
	t.Helper()
	var values [2]any
	for i, text := range [][]byte{a, b} {
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if err := decoder.Decode(&values[i]); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

// FuzzRedact compares the view of JSON with one that is made from the decoded values.
func FuzzRedact(f *testing.F) {
	for _, text := range []string{`{"a":[1,{"token":{"b":"]}"}}],"TOKEN":-1.5e3}`, `{"t\u006fken":"\"","a":"token"}`, `["token",{"a":null}]`, `"x"`, `["token",{"a":1e400}]`} {
		f.Add([]byte(text))
	}
	client, err := ops.NewClient(nil, &ops.Config{Redact: ops.Redact{Keys: []string{"token"}}})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, args []byte) {
		view := client.Redactor().Job(&queue.Job{Args: args}).Args
		if !json.Valid(args) {
			return
		}
		var got, want any
		if err := json.Unmarshal(args, &want); err != nil {
			t.Skip() // a number is out of range
		}
		if err := json.Unmarshal(view, &got); err != nil {
			t.Fatalf("%s becomes %s: %v", args, view, err)
		}
		if want = hide(want); !reflect.DeepEqual(got, want) {
			t.Errorf("%s becomes %s", args, view)
		}
	})
}

func hide(value any) any {
	switch value := value.(type) {
	case map[string]any:
		for name, part := range value {
			if value[name] = hide(part); strings.EqualFold(name, "token") {
				value[name] = ops.Hidden
			}
		}
	case []any:
		for i, part := range value {
			value[i] = hide(part)
		}
	}
	return value
}

// BenchmarkHide hides a value of 700 bytes of args.
func BenchmarkHide(b *testing.B) {
	client, err := ops.NewClient(nil, &ops.Config{Redact: ops.Redact{Keys: ops.DefaultRedactKeys}})
	if err != nil {
		b.Fatal(err)
	}
	job := &queue.Job{Args: []byte(`{"to":"ada@example.com","subject":"Hello","text":"` + strings.Repeat("x", 600) + `","password":"x","n":12}`)}
	b.SetBytes(int64(len(job.Args)))
	for b.Loop() {
		client.Redactor().Job(job)
	}
}
