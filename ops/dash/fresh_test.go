package dash_test

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"skidway/delayed"
	"skidway/distribute"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops"
	"skidway/ops/dash"
	"skidway/ops/dash/internal/words"
	"skidway/queue"
)

// An element is an element of a page, or a text in one.
type element struct {
	name, text string
	attrs      map[string]string
	inside     []*element
	parent     *element
}

// parsePage returns the body of a page.
func (f *fixture) parsePage(text string) *element {
	f.Helper()
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	root := &element{attrs: map[string]string{}}
	at := root
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return root
		}
		f.must(err)
		switch token := token.(type) {
		case xml.StartElement:
			inside := &element{name: token.Name.Local, attrs: map[string]string{}, parent: at}
			for _, attr := range token.Attr {
				inside.attrs[attr.Name.Local] = attr.Value
			}
			at.inside, at = append(at.inside, inside), inside
		case xml.EndElement:
			at = at.parent
		case xml.CharData:
			at.inside = append(at.inside, &element{text: string(token), parent: at})
		}
	}
}

// all returns an element and those in it.
func (e *element) all(yield func(*element) bool) bool {
	for _, inside := range e.inside {
		if !inside.all(yield) {
			return false
		}
	}
	return yield(e)
}

// child returns the first element of a name in this one.
func (e *element) child(name string) (found *element) {
	e.all(func(inside *element) bool {
		if found == nil && inside.name == name {
			found = inside
		}
		return true
	})
	return found
}

// setText sets the text of an element as the script of the dashboard does.
func (e *element) setText(text string) {
	e.inside = []*element{{text: text, parent: e}}
	e.setClass("dim", text == "0" || text == words.None)
}

func (e *element) setClass(class string, on bool) {
	classes := slices.DeleteFunc(strings.Fields(e.attrs["class"]), func(name string) bool { return name == class })
	if on {
		classes = append(classes, class)
	}
	e.attrs["class"] = strings.Join(classes, " ")
}

func (e *element) content() (text string) {
	e.all(func(inside *element) bool { text += inside.text; return true })
	return text
}

// A tab is a page in a browser without one: it does with the events of a stream what the script does.
type tab struct {
	page   *element
	rows   []string
	tables map[string][]string
	said   string // that a load of the page shows something new, and why
}

func (t *tab) show(change dash.Event) {
	for key, text := range change.Values {
		name, rest, _ := strings.Cut(key, " ")
		parts := strings.Split(text+"\n\n\n", "\n")
		t.page.all(func(e *element) bool {
			_, keyed := e.attrs["data-"+name]
			switch {
			case e.attrs["data-v"] == key && key != "":
				if _, hides := e.attrs["hidden"]; hides && e.content() != text {
					t.said += ", " + key
				} else if e.content() != text {
					e.setText(text)
				}
				if strings.HasPrefix(key, "mark.") {
					if delete(e.parent.attrs, "hidden"); text == "" {
						e.parent.attrs["hidden"] = ""
					}
				}
			case name == "class" && e.attrs["data-v"] == rest:
				e.setClass("bad", text == "bad")
			case !keyed || e.attrs["data-"+name] != rest:
			case name == "badge":
				e.attrs["class"] = "b " + parts[0]
				e.child("svg").attrs["class"], e.child("use").attrs["href"] = "i "+parts[1], parts[2]
				e.child("span").setText(parts[3])
			case name == "shape":
				e.attrs["class"], e.child("use").attrs["href"] = "i "+parts[0], parts[1]
				if parts[2] != "" {
					e.attrs["aria-label"] = parts[2]
				}
			case name == "k":
				e.attrs["class"] = parts[0]
				e.child("title").setText(parts[1])
			case name == "spark":
				e.child("path").attrs["d"], e.child("circle").attrs["cx"], e.child("circle").attrs["cy"], e.attrs["aria-label"] = parts[0], parts[1], parts[2], parts[3]
			case name == "time":
				e.attrs["datetime"], e.attrs["title"], e.attrs["data-age"] = parts[0], parts[1], parts[2]
				if parts[3] != "" || parts[2] == "" {
					e.setText(parts[3])
				}
			default:
				e.attrs[map[string]string{"label": "aria-label", "path": "d", "width": "width"}[name]] = text
			}
			return true
		})
	}
	for table, ids := range change.Rows {
		fresh := slices.ContainsFunc(ids, func(id string) bool { return !slices.Contains(t.rows, id) })
		gone := slices.ContainsFunc(t.tables[table], func(id string) bool { return !slices.Contains(ids, id) })
		order := slices.DeleteFunc(slices.Clone(t.rows), func(id string) bool { return !slices.Contains(ids, id) })
		if t.tables[table] = ids; fresh || gone || !slices.Equal(order, ids) {
			t.said += ", " + table
		}
	}
}

// drifting matches what time changes, in values that are live.
var drifting = regexp.MustCompile(`\d\d:\d\d:\d\d|\d+(\.\d+)?(ms|µs|s|m|h|d)\b( \d\d[smhd])?`)

// shown returns what a page shows, a line for each text and for each attribute with something to say. What is
// live is named by its key.
func (e *element) shown(path string, into *[]string) {
	if _, hides := e.attrs["hidden"]; hides || e.attrs["id"] == "news" || e.name == "script" || e.name == "head" || e.attrs["name"] == "back" {
		return
	}
	key := ""
	for _, name := range []string{"v", "badge", "shape", "k", "label", "path", "spark", "time", "width"} {
		if value, keyed := e.attrs["data-"+name]; keyed {
			key += "{" + name + " " + value + "}"
		}
	}
	path += "/" + e.name + key
	line := func(what, text string) {
		if strings.Contains(path, "{") {
			text = drifting.ReplaceAllString(text, "…")
			if strings.Contains(path, "memory}") { // that of a server of many tests
				text = ""
			}
		}
		*into = append(*into, path+what+": "+strings.TrimSpace(text))
	}
	for _, name := range slices.Sorted(maps.Keys(e.attrs)) {
		value := e.attrs[name]
		switch {
		case strings.HasPrefix(name, "data-") || name == "nonce" || name == "class" && strings.Trim(value, "b ") == "":
		case name == "class":
			classes := strings.Fields(value)
			slices.Sort(classes)
			line("@class", strings.Join(classes, " "))
		case key != "" && name == "datetime":
			at, _ := time.Parse(time.RFC3339, value)
			line("@datetime", at.Truncate(time.Minute).Format("02 15h04"))
		case key != "" && name == "title":
		default:
			line("@"+name, value)
		}
	}
	counts := e.attrs["data-age"] != ""
	for _, inside := range e.inside {
		if text := strings.TrimSpace(inside.text); text != "" && !counts {
			line("", text)
		}
		if inside.name != "" {
			inside.shown(path, into)
		}
	}
}

// A liveTab is a tab that follows the stream of its page.
type liveTab struct {
	mu sync.Mutex
	tab
	address, path string
	began         bool
}

// fresh returns the page as a load shows it now. Where searches have used their share of Redis's time, it tries
// again, as the page asks: on a busy machine these loads use all of it.
func (f *fixture) fresh(address, path string) *element {
	f.Helper()
	for {
		request, err := http.NewRequestWithContext(f.Context(), http.MethodGet, address+path, nil)
		f.must(err)
		response, err := http.DefaultClient.Do(request)
		f.must(err)
		body, err := io.ReadAll(response.Body)
		f.must(errors.Join(err, response.Body.Close()))
		if response.StatusCode == http.StatusTooManyRequests {
			f.must(rdb.Sleep(f.Context(), time.Second))
			continue
		}
		if response.StatusCode != http.StatusOK {
			f.Fatalf("%s: %d %.300s", path, response.StatusCode, body)
		}
		return f.parsePage(string(body))
	}
}

// openTab opens a tab on a page.
func (f *fixture) openTab(address, path string) *liveTab {
	f.Helper()
	t := &liveTab{tab: tab{page: f.fresh(address, path), tables: map[string][]string{}}, address: address, path: path}
	t.page.all(func(e *element) bool {
		if id, found := e.attrs["data-row"]; found {
			if slices.Contains(t.rows, id) {
				f.Errorf("%s: two rows have the id %q", path, id)
			}
			t.rows = append(t.rows, id)
		}
		return true
	})
	lines := f.streamFor(time.Hour, address, path) // longer than the test
	go func() {
		for line := range lines {
			data, found := strings.CutPrefix(line, "data: ")
			var change dash.Event
			if !found || json.Unmarshal([]byte(data), &change) != nil {
				continue
			}
			t.mu.Lock()
			t.show(change)
			t.began = true
			t.mu.Unlock()
		}
	}()
	return t
}

// stays matches what stays as it was loaded though a load shows something else.
var stays = regexp.MustCompile(`a@href: /[a-z/]+\?to=` + // the address of the counts at the time of the load
	`|/t[hd]/a@title: ` + // an example of a group of errors
	`|/form/(label/)?input@value: `) // a field of a question, into which somebody may be typing

// differs returns how the page differs from what a load shows. Where the page says that a load shows something
// new, only what both have is compared. Until a load has the text, what was changed is not read yet.
func (f *fixture) differs(t *liveTab, text string) (differences []string) {
	f.Helper()
	var before, now []string
	page := f.fresh(t.address, t.path).child("main")
	if !strings.Contains(page.content(), text) {
		return []string{"a load does not show " + text}
	}
	page.shown("", &now)
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.began {
		return []string{"the stream has not begun"}
	}
	t.page.child("main").shown("", &before)
	for list, lines := range map[string][2][]string{"the page has ": {before, now}, "a load shows ": {now, before}} {
		for _, line := range lines[0] {
			place, _, _ := strings.Cut(line, ": ")
			both := strings.Contains(place, "{") && slices.ContainsFunc(lines[1], func(other string) bool { return strings.HasPrefix(other, place+": ") })
			if (t.said == "" || both) && !slices.Contains(lines[1], line) && !stays.MatchString(line) {
				differences = append(differences, list+line)
			}
		}
	}
	return differences
}

// awaitFresh waits until pages are as a load shows them, and until those of some paths say that a load shows
// something new of some tables; the others must not say so. A load shows texts of what was changed.
func (f *fixture) awaitFresh(tabs []*liveTab, tables, texts map[string]string) {
	f.Helper()
	for deadline := time.Now().Add(8 * time.Minute); len(tabs) > 0; time.Sleep(time.Second) { // loads take time of Redis from what changes the pages
		tabs = slices.DeleteFunc(slices.Clone(tabs), func(t *liveTab) bool {
			differences := f.differs(t, texts[t.path])
			t.mu.Lock()
			defer t.mu.Unlock()
			for _, table := range strings.Split(tables[t.path], ", ") {
				if !strings.Contains(t.said+",", table+",") {
					differences = append(differences, "it does not say that there is something new of "+table)
				}
			}
			if _, named := tables[t.path]; t.said != "" && !named {
				differences = append(differences, "it says that there is something new")
			}
			if len(differences) > 0 && time.Now().Before(deadline) {
				return false
			}
			if len(differences) > 0 {
				slices.Sort(differences)
				f.Errorf("%s (new of%s):\n%s", t.path, t.said, strings.Join(differences, "\n"))
			}
			return true
		})
	}
}

func TestLivePagesEndUpAsAFreshPage(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	w, address := f.newWorld(), f.viewers()
	for unread := true; unread; {
		text := f.fresh(address, "/").content()
		unread = strings.Contains(text, "queues read") || strings.Contains(text, "queues are read") || strings.Contains(text, "being read") || strings.Contains(text, words.T("redis.unchecked"))
	}
	var tabs []*liveTab
	left := dash.LivePatterns()
	for _, path := range w.paths {
		tabs = append(tabs, f.openTab(address, path))
		left = slices.DeleteFunc(left, func(pattern string) bool { return pattern == f.dash.PatternOf(path) })
	}
	if len(left) > 0 {
		t.Errorf("no page of %q is tested", left)
	}
	f.awaitFresh(tabs, map[string]string{"/operations": ""}, nil) // in time nobody carries the operation on
	w.changeValues()
	f.awaitFresh(tabs, map[string]string{"/operations": "rest " + w.operation, "/schedules": "rest mail nightly"},
		map[string]string{"/": "04:31", "/queues": words.T("queue.paused_by", "tom"), "/queues/mail": "75", "/errors": "75", "/channels": "8.0 MiB", "/workers": "2 handlers", "/counts": "≈ 1"})
	w.changeRows()
	f.awaitFresh(tabs, map[string]string{
		"/": "queues, channels, next", "/queues": "queues", "/queues/mail": "troubles, workers, errors, kinds", w.paths[3]: "jobs", w.paths[4]: "jobs", "/jobs/" + w.active: "rest job", "/jobs/" + w.delayed: "page", "/errors": "errors",
		"/workers": "workers, versions", "/operations": "operations", "/schedules": "schedules, firings", "/channels": "channels, files web, subscribers web", "/counts": "subscribers", "/chats?chat=" + w.room: "members", "/chats?member=bob": "chats",
		"/audit": "audit", "/redis": "", // the doctor may find something
	}, nil)
}

// A world has something on each live page.
type world struct {
	*fixture
	paths                      []string
	active, delayed, operation string
	channel                    *distribute.Channel
	chats                      *group.Client
	room                       string
}

func (f *fixture) newWorld() *world {
	f.Helper()
	w := &world{fixture: f}
	f.add("mail", "email.send", `{}`, queue.Options{})
	f.bury("mail", "connection refused")
	f.count("mail", "email.send", "refused by 1", 40, 2)
	w.active = f.add("mail", "email.send", `{}`, queue.Options{})
	w.beat("w1", 2, 0, "running", time.Hour)
	f.serve(w.pool("w2", 2, 0, "running"), time.Hour)
	f.add("mail", "email.send", `{}`, queue.Options{})
	w.delayed = f.add("mail", "email.send", `{}`, queue.Options{Delay: time.Hour})
	f.add("docs", "pdf", `{}`, queue.Options{})
	f.post("/queues/mail/pause", url.Values{"note": {"a note"}})
	f.post("/queues/docs/pause", nil) // else it needs workers after a minute
	w.schedule("nightly", "30 2 1 1 *")
	w.schedule("yearly", "45 3 1 2 *")

	var err error
	w.channel, err = distribute.Open(f.Context(), f.queues.DB(), "web")
	f.must(err)
	f.must(w.channel.Subscribe(f.Context(), "idle", ""))
	f.countRequest(w.channel, "1.1.1.1")
	w.ship("late.log", "1.1.1.1")
	keys, err := f.redis.Keys(f.Context(), "*:subscriber:idle").Result()
	f.must(err)
	f.must(f.redis.Del(f.Context(), keys...).Err()) // it will not turn into a trouble later

	w.chats = group.NewClient(f.queues.DB())
	w.room, err = w.chats.Create(f.Context(), "", &group.CreateOptions{Members: []string{"ada", "bob"}})
	f.must(err)
	w.send()
	w.begin(`kind == "pdf"`)
	w.paths = []string{
		"/", "/queues", "/queues/mail", "/jobs?queue=mail&state=delayed", "/jobs?queue=mail&state=waiting", "/jobs/" + w.active, "/jobs/" + w.delayed, "/errors", "/workers", "/operations", "/schedules", "/channels",
		"/counts", "/chats?chat=" + w.room, "/chats?member=bob", "/audit", "/redis",
	}
	return w
}

func (w *world) pool(name string, slots, stuck int, state string) queue.PoolInfo {
	return queue.PoolInfo{Name: name, Host: "host", Queues: []string{"mail"}, Concurrency: slots, Stuck: stuck, State: state, Version: "v1", Started: began.Add(-time.Duration(slots) * time.Hour)}
}

func (w *world) beat(name string, slots, stuck int, state string, length time.Duration) {
	w.Helper()
	info := w.pool(name, slots, stuck, state)
	_, err := w.queues.Beat(w.Context(), queue.PoolBeat{Pool: name, Length: length, Info: &info})
	w.must(err)
}

func (w *world) schedule(name, expr string) {
	w.Helper()
	_, err := delayed.AddSchedule(w.Context(), w.queues, queue.CronSchedule{Name: name, Queue: "mail", Expr: expr, Kind: "report", Args: []byte("{}")})
	w.must(err)
}

// send sends a message that bob does not read.
func (w *world) send() {
	w.Helper()
	_, err := w.chats.Send(w.Context(), w.room, "ada", chat.Content{Body: []byte("hello")})
	w.must(err)
	_, err = w.chats.Fetch(w.Context(), w.room, "ada", 100)
	w.must(err)
}

func (w *world) ship(name, address string) {
	w.Helper()
	file := filepath.Join(w.TempDir(), name)
	w.must(os.WriteFile(file, []byte(address+time.Now().UTC().Format(` - - [02/Jan/2006:15:04:05 +0000]`)+` "GET / HTTP/1.1" 200 1`+"\n"), 0o600))
	_, err := distribute.NewShipper(w.channel, nil).Ship(w.Context(), []string{file})
	w.must(err)
}

// changeValues changes figures of each page, but not what is in its lists.
func (w *world) changeValues() {
	w.Helper()
	w.count("mail", "email.send", "refused by 2", 30, 3)
	for range 3 {
		w.add("docs", "pdf", `{}`, queue.Options{})
	}
	q, err := w.queues.Queue("mail")
	w.must(err)
	w.must(q.Pause(w.Context(), "tom", "another note"))
	w.beat("w1", 5, 2, "quiet", 3*time.Hour)
	w.beat("w2", 7, 0, "stopping", 4*time.Hour)
	w.must(w.queues.SetPriority(w.Context(), w.delayed, queue.High))
	w.must(w.queues.Reschedule(w.Context(), w.delayed, time.Now().Add(5*time.Hour)))
	pool, err := w.queues.ForPool("mail")
	w.must(err)
	w.must(pool.SetRetention(w.Context(), queue.Retention{Dead: queue.RetentionLimit{Jobs: 10}}))
	job, err := w.queues.Get(w.Context(), w.active)
	w.must(err)
	w.must(pool.SetProgress(w.Context(), job, []byte("half")))
	w.schedule("nightly", "31 4 2 1 *")
	w.must(w.channel.SetWindow(w.Context(), 8<<20))
	w.workFiles()
	w.send()
	client, err := ops.NewClient(w.queues, nil)
	w.must(err)
	_, err = client.Operations().Stop(w.Context(), w.operation)
	w.must(err)
}

// changeRows changes what is in the lists of each page but that of the server.
func (w *world) changeRows() {
	w.Helper()
	w.add("late", "a", `{}`, queue.Options{})
	w.add("mail", "email.send", `{}`, queue.Options{})
	w.add("mail", "email.send", `{}`, queue.Options{Delay: 9 * time.Hour})
	w.must(w.queues.Retry(w.Context(), w.delayed, queue.OnlyIf(queue.Delayed)))
	w.count("mail", "other", "another error", 1, 1)
	info := w.pool("w3", 1, 0, "running")
	info.Version = "v2"
	_, err := w.queues.Beat(w.Context(), queue.PoolBeat{Pool: info.Name, Length: time.Hour, Info: &info})
	w.must(err)
	w.post("/queues/mail/resume", nil)
	w.begin(`kind == "other"`)
	w.schedule("late", "1 1 3 1 *")
	pool, err := w.queues.ForPool("mail")
	w.must(err)
	_, err = pool.RunSchedule(w.Context(), "nightly", "")
	w.must(err)
	w.must(w.channel.Subscribe(w.Context(), "late", ""))
	w.ship("new.log", "1.1.1.1")
	_, err = distribute.Open(w.Context(), w.queues.DB(), "api")
	w.must(err)
	w.must(w.chats.Join(w.Context(), w.room, "carl", group.FromNow))
	_, err = w.chats.Create(w.Context(), "", &group.CreateOptions{Members: []string{"ada", "bob"}})
	w.must(err)
}

// begin begins an operation that deletes jobs, and takes no step of it.
func (w *world) begin(match string) {
	w.Helper()
	client, err := ops.NewClient(w.queues, nil)
	w.must(err)
	asked, err := client.Operations().Ask(w.Context(), ops.Change{Queue: "docs", Do: "delete", State: queue.Waiting, Match: match})
	w.must(err)
	run, err := client.Operations().Begin(w.Context(), asked)
	w.must(err)
	w.operation = run.Operation.ID
}

// workFiles counts the files of the channel for the subscriber that counts.
func (w *world) workFiles() {
	w.Helper()
	aggregation, err := distribute.NewCounting(&distribute.CountingConfig{By: [][]string{{"day", "country"}, {"day", "status"}}, Visitors: []string{"day", "country"}})
	w.must(err)
	worker, err := distribute.NewWorker(w.Context(), w.channel, "countries", aggregation, &distribute.WorkerConfig{UntilDone: true})
	w.must(err)
	_, err = worker.Work(w.Context())
	w.must(err)
}

var began = time.Now()
