package dash_test

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/internal/handle"
	"skidway/internal/redistest"
)

func TestChannelsShowWhoHoldsUpWhat(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	channel, err := distribute.Open(t.Context(), f.queues.DB(), "web")
	f.must(err)
	f.must(channel.Subscribe(t.Context(), "countries", ""))
	file := filepath.Join(t.TempDir(), "<img src=x>.log")
	f.must(os.WriteFile(file, []byte(strings.Repeat("a line\n", 100)), 0o600))
	_, err = distribute.NewShipper(channel, nil).Ship(t.Context(), []string{file})
	f.must(err)
	page := f.get("/channels")
	f.want(page, http.StatusOK, "1 channel.", "countries", "&lt;img src=x&gt;.log", "1 file is in Redis.", `aria-label="countries has counted 0 of 1 file"`, "&lt;img src=x&gt;.log: not counted yet</title>", "Drop subscriber countries of web?", "How much may the files of web use in Redis?", `aria-current="page" data-key="c"`)
	if strings.Contains(page.body, "<img") {
		t.Errorf("the name of a file is in the page as HTML: %s", page.body)
	}
	f.want(f.get("/counts"), http.StatusOK, "web: countries", "Nothing is counted in this time")
	f.want(f.get("/counts?channel=web&subscriber=none"), http.StatusNotFound)
	f.countRequest(channel, "1.1.1.1")
	today := time.Now().UTC().Format(time.DateOnly)
	f.want(f.get("/counts?channel=web&subscriber=countries"), http.StatusOK, `<td class="nw">`+today+"</td>", `<span data-v="count day, country `+today+` `, `<span data-v="count day, status `+today+` 200">1<`, `<span data-v="visitors day, country `+today+` `, ">≈ 1<", ": 1 request</title>", "Most requests", "not counted apart: a subscriber with --by day,country,crawler does that", "skidway logs report --channel web --subscriber countries")
	f.want(f.get("/counts?channel=web&subscriber=countries&from=yesterday"), http.StatusBadRequest, "yesterday")

	// The window, and the end of a subscriber.
	window := url.Values{"channel": {"web"}, "window": {"2 GiB"}}
	f.want(f.follow(f.post("/channels/window", window)), http.StatusOK, "The window of channel web is 2.0 GiB.")
	if status, err := channel.Status(t.Context()); err != nil || status.Window != 2<<30 {
		t.Errorf("the window is %d, %v", status.Window, err)
	}
	window.Set("window", "much")
	f.want(f.follow(f.post("/channels/window", window)), http.StatusOK, "much is no size")
	drop := url.Values{"channel": {"web"}, "subscriber": {"countries"}, "name": {"web"}}
	f.want(f.follow(f.post("/channels/drop", drop)), http.StatusOK, "That is not the name of the subscriber.")
	drop.Set("name", "countries")
	f.want(f.follow(f.post("/channels/drop", drop)), http.StatusOK, "Subscriber countries of channel web is dropped.")
	if left, err := channel.Subscribers(t.Context()); err != nil || len(left) != 0 {
		t.Errorf("the subscribers are %+v, %v", left, err)
	}
	f.who = principal(t, "view:*", "operate:*")
	f.want(f.post("/channels/drop", drop), http.StatusForbidden)
	f.who = principal(t, "view:mail")
	f.want(f.get("/counts"), http.StatusForbidden)
	f.want(f.get("/channels"), http.StatusForbidden)
}

func TestSubscriberWithoutRecordIsNotGoneForAnAge(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	channel, err := distribute.Open(t.Context(), f.queues.DB(), "web")
	f.must(err)
	f.must(channel.Subscribe(t.Context(), "countries", ""))
	file := filepath.Join(t.TempDir(), "a.log")
	f.must(os.WriteFile(file, []byte("a line\n"), 0o600))
	_, err = distribute.NewShipper(channel, nil).Ship(t.Context(), []string{file})
	f.must(err)
	db := handle.Conn(f.queues.DB())
	keys, err := db.Keys(t.Context(), "*:subscriber:countries").Result()
	f.must(err)
	f.must(db.Del(t.Context(), keys...).Err())
	page := f.get("/channels")
	f.want(page, http.StatusOK, "keeps files for subscriber countries: its record is missing.")
	if strings.Contains(page.body, "106751") {
		t.Errorf("the page has an age since the year 1: %s", page.body)
	}
	status, err := channel.Status(t.Context())
	f.must(err)
	if l := status.Laggards(); len(l) != 1 || !l[0].Gone() || !strings.Contains(l[0].String(), "its record is missing") {
		t.Errorf("the laggards are %v", l)
	}
}

func TestFindingsOfOneTopicChangeApart(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	channel, err := distribute.Open(t.Context(), f.queues.DB(), "web")
	f.must(err)
	f.must(channel.Subscribe(t.Context(), "countries", ""))
	f.must(channel.Subscribe(t.Context(), "days", ""))
	file := filepath.Join(t.TempDir(), "a.log")
	f.must(os.WriteFile(file, []byte("a line\n"), 0o600))
	_, err = distribute.NewShipper(channel, nil).Ship(t.Context(), []string{file})
	f.must(err)
	db := handle.Conn(f.queues.DB())
	keys, err := db.Keys(t.Context(), "*:subscriber:*").Result()
	f.must(err)
	f.must(db.Del(t.Context(), keys...).Err())
	f.want(f.get("/redis"), http.StatusOK, `data-v="found subscribers">`, `data-v="found subscribers 2">`)
	f.awaitPage("/", func(body string) bool { return strings.Contains(body, "persistence: nothing is written to disk") })
	f.want(f.get("/"), http.StatusOK, `data-v="trouble finding Redis persistence">`)
}

func TestCountsOfPeopleAreApartWhereCrawlersAreCounted(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	channel, err := distribute.Open(t.Context(), f.queues.DB(), "web")
	f.must(err)
	f.countLine(channel, "crawlers", &distribute.CountingConfig{By: [][]string{{"day", "crawler_class"}}}, "1.1.1.1", time.Now())
	f.want(f.get("/counts?channel=web&subscriber=crawlers"), http.StatusOK, "In rows: 1, of people: 1.")
}

func TestCountsOfOldLogsAreThoseOfTheirLastDays(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	channel, err := distribute.Open(t.Context(), f.queues.DB(), "web")
	f.must(err)
	f.countLine(channel, "old", nil, "1.1.1.1", time.Date(2024, 2, 29, 12, 0, 0, 0, time.UTC))
	page := f.get("/counts?channel=web&subscriber=old")
	f.want(page, http.StatusOK, `<td class="nw">2024-02-29</td>`, `name="from" value="2024-01-30"`, `name="to" value="2024-02-29"`, "from=2024-01-30&amp;subscriber=old&amp;to=2024-02-29")
	f.want(f.get("/counts?channel=web&subscriber=old&from=2024-03-01"), http.StatusOK, "Nothing is counted in this time")
}

func TestWindowWithoutRoomForASegmentIsFull(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	channel, err := distribute.Open(t.Context(), f.queues.DB(), "web")
	f.must(err)
	f.must(channel.Subscribe(t.Context(), "days", ""))
	f.must(channel.SetWindow(t.Context(), 8<<20))
	file := filepath.Join(t.TempDir(), "access.log")
	f.must(os.WriteFile(file, []byte(strings.Repeat("a line\n", 3<<19)), 0o600))
	ctx, cancel := context.WithCancel(t.Context())
	full, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		notify := func(e distribute.Event) {
			if e.Kind == distribute.EventWindowFull {
				close(full)
			}
		}
		_, _ = distribute.NewShipper(channel, &distribute.ShipperConfig{Notify: notify}).Ship(ctx, []string{file}) // until the test ends
	}()
	t.Cleanup(func() { cancel(); <-ended })
	<-full
	f.want(f.get("/"), http.StatusOK, " full, shipping waits for days")
}

// countRequest ships a line with the address of a client, and counts it by two cuts.
func (f *fixture) countRequest(channel *distribute.Channel, address string) {
	f.Helper()
	f.countLine(channel, "countries", &distribute.CountingConfig{By: [][]string{{"day", "country"}, {"day", "status"}}, Visitors: []string{"day", "country"}}, address, time.Now())
}

// countLine ships a line with the address of a client and a time, and counts it for a subscriber.
func (f *fixture) countLine(channel *distribute.Channel, subscriber string, config *distribute.CountingConfig, address string, at time.Time) {
	f.Helper()
	file := filepath.Join(f.TempDir(), "access.log")
	f.must(os.WriteFile(file, []byte(address+at.UTC().Format(` - - [02/Jan/2006:15:04:05 +0000]`)+` "GET / HTTP/1.1" 200 1`+"\n"), 0o600))
	_, err := distribute.NewShipper(channel, nil).Ship(f.Context(), []string{file})
	f.must(err)
	aggregation, err := distribute.NewCounting(config)
	f.must(err)
	worker, err := distribute.NewWorker(f.Context(), channel, subscriber, aggregation, &distribute.WorkerConfig{UntilDone: true})
	f.must(err)
	_, err = worker.Work(f.Context())
	f.must(err)
}

func TestChatsShowMembersAndBacklogs(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	chats := group.NewClient(f.queues.DB())
	id, err := chats.Create(t.Context(), "", &group.CreateOptions{Members: []string{"ada", "bob", hostile}})
	f.must(err)
	for range 3 {
		_, err := chats.Send(t.Context(), id, "ada", chat.Content{Body: []byte("secret words")})
		f.must(err)
	}
	_, err = chats.Ack(t.Context(), id, "ada", 3)
	f.must(err)
	page := f.get("/chats?chat=" + url.QueryEscape(id))
	f.want(page, http.StatusOK, "bob", "3 messages are kept", "furthest behind has 3 unread", "skidway chat members "+id, "Drop bob")
	if strings.Contains(page.body, "<img") || strings.Contains(page.body, "secret words") {
		t.Errorf("the page is %s", page.body)
	}
	f.want(f.get("/chats?member=bob"), http.StatusOK, `href="/chats?chat=`+id+`"`, "skidway chat list --as bob")
	f.want(f.get("/chats?chat=none"), http.StatusOK, "There is no chat with this id.")
	f.want(f.get("/chats?chat="+url.QueryEscape("a{b")), http.StatusOK, "Nothing is found")
	f.want(f.get("/chats?member=carol"), http.StatusOK, "This member is in no chat")
	f.want(f.get("/chats"), http.StatusOK, "Which chat?")
	f.want(f.follow(f.post("/chats/drop", url.Values{"chat": {id}, "member": {"bob"}})), http.StatusOK, "Member bob is dropped.")
	members, err := chats.Members(t.Context(), id)
	f.must(err)
	if len(members) != 2 {
		t.Errorf("the members are %+v", members)
	}
	f.want(f.follow(f.post("/chats/drop", url.Values{"chat": {id}, "member": {"nobody"}})), http.StatusOK, "Not done:", "not a member")
	f.want(f.follow(f.post("/chats/drop", url.Values{"chat": {"none"}, "member": {"bob"}})), http.StatusOK, "Not done:")
	if entries, _, err := f.audit.List(t.Context(), "", 10); err != nil || len(entries) != 2 || entries[0].Action != "drop member" || entries[0].Filter != id+" bob" {
		t.Errorf("the audit has %+v, %v", entries, err)
	}

	f.who = principal(t, "view:*")
	f.want(f.get("/chats?chat="+id), http.StatusOK, "Your role may not administrate here")
	f.want(f.post("/chats/drop", url.Values{"chat": {id}, "member": {"ada"}}), http.StatusForbidden)
	f.who = principal(t, "view:mail")
	f.want(f.get("/chats"), http.StatusForbidden)
	if page := f.get("/"); strings.Contains(page.body, `href="/chats"`) || !strings.Contains(page.body, `href="/settings"`) {
		t.Errorf("the list of pages is %s", page.body)
	}
}

func TestCountsHaveALinkToTheirDays(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.DB(t))
	channel, err := distribute.Open(t.Context(), f.queues.DB(), "web")
	f.must(err)
	f.must(channel.Subscribe(t.Context(), "countries", ""))
	f.countRequest(channel, "8.8.8.8")
	page := f.get("/counts") // the first one: the sampler reads the settings of subscribers each 30 s
	found := regexp.MustCompile(`href="(/counts\?channel=web&amp;from=20\d\d-\d\d-\d\d&amp;subscriber=countries&amp;to=20\d\d-\d\d-\d\d)">Link to these days</a>`).FindStringSubmatch(page.body)
	if found == nil {
		t.Fatalf("there is no link to the days: %s", page.body)
	}
	days := regexp.MustCompile(`from=([^&]*)&amp;subscriber=countries&amp;to=(.*)`).FindStringSubmatch(found[1])
	f.want(f.get(html.UnescapeString(found[1])), http.StatusOK, "skidway logs report --channel web --subscriber countries --from "+days[1]+" --to "+days[2]+"<")
	if page := f.get(html.UnescapeString(found[1])); page.StatusCode != http.StatusOK || strings.Contains(page.body, "Link to these days") {
		t.Errorf("the link leads to %d: %s", page.StatusCode, page.body)
	}
}
