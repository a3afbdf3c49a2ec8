package api_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"skidway/distribute"
	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/internal/handle"
	"skidway/internal/rdb"
	"skidway/internal/redistest"
	"skidway/ops/api"
	"skidway/queue"
)

// serve makes a worker known that serves queues.
func (f *fixture) serve(name string, queues ...string) {
	f.Helper()
	info := &queue.PoolInfo{Name: name, Host: "h", PID: 1, Started: time.Now(), Concurrency: 4, Queues: queues, State: "running"}
	_, err := f.queues.Beat(f.Context(), queue.PoolBeat{Pool: name, Length: time.Minute, Info: info})
	f.must(err)
}

func TestWorkersAreListedWithoutOtherQueues(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.add("mail", "news", `1`)
	f.add("web", "news", `1`)
	f.serve("w1", "mail", "web")
	f.serve("w2", "web")
	f.serve("w3", "m*")
	f.serve("w4", "nothing*")
	f.serve("w5")
	f.serve("w6", "mail")
	seen := func(scopes ...string) (names []string) {
		for _, w := range into[api.List[api.Worker]](f.as(scopes...).do("GET", "/workers", nil, 200)).Items {
			if (w.Name == "") != (w.Host == "" && w.PID == 0) {
				t.Errorf("%q: %+v", scopes, w)
			}
			for _, q := range w.Queues {
				names = append(names, w.Name+" "+q)
			}
		}
		return names
	}
	if got, want := seen("view:mail"), []string{" mail", " mail", " mail"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := seen("view:mail", "operate:mail"), []string{" mail", " mail", "w6 mail"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := seen("view:*"), []string{"w1 mail", "w1 web", "w2 web", "w3 m*", "w4 nothing*", "w6 mail"}; !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	f.as("operate:mail").do("POST", "/workers/w1/quiet", nil, 403).problem("forbidden")
	f.as("operate:m*").do("POST", "/workers/w3/quiet", nil, 403).problem("forbidden")
	f.as("operate:web").do("POST", "/workers/w2/quiet", nil, 202)
	f.do("POST", "/workers/w3/stop", nil, 202)
	f.as("operate:web").do("POST", "/workers/w5/stop", nil, 403).problem("forbidden")
	f.do("POST", "/workers/w4/stop", nil, 409).problem("no-way")
	f.do("POST", "/workers/none/stop", nil, 404).problem("not-found")
	if list := into[api.RunningList](f.as("view:mail").do("GET", "/running", nil, 200)); len(list.Items) != 0 || len(list.Silent) != 0 {
		t.Errorf("%+v", list)
	}
}

func TestWorkersOfJobsAreNamedToThoseWhoSeeAllQueues(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.die("mail", "news", `1`)
	id := into[api.List[api.Job]](f.do("GET", "/queues/mail/jobs?state=dead", nil, 200)).Items[0].ID
	for _, path := range []string{"/queues/mail/jobs?state=dead", "/jobs/" + id} {
		for scope, want := range map[string]bool{"view:*": true, "view:mail": false} {
			if a := f.as(scope).do("GET", path, nil, 200); strings.Contains(a.text, `"worker":"`) != want {
				t.Errorf("%s with %s: %s", path, scope, a.text)
			}
		}
	}
}

func TestSchedulesAreAddedChangedAndRun(t *testing.T) {
	t.Parallel()
	f := setup(t)
	f.add("mail", "news", `1`)
	const path = "/queues/mail/schedules/nightly"
	s := into[api.Schedule](f.do("PUT", path, `{"expression":"30 2 * * *","zone":"Europe/Berlin","kind":"news","args":{"a":1},"revision":3,"headers":{"x":"y"},"then":[{"kind":"next"}]}`, 200))
	if s.Name != "nightly" || s.Queue != "mail" || s.Zone != "Europe/Berlin" || s.Next.IsZero() || string(s.Args) != `{"a":1}` || len(s.Then) != 1 || s.Headers["x"] != "y" {
		t.Errorf("%+v", s)
	}
	f.do("PUT", path, `{"expression":"31 2 * * *","kind":"news","revision":2}`, 412).problem("changed")
	f.do("PUT", path, `{"expression":"nonsense","kind":"news"}`, 400).problem("invalid")
	f.as("admin:*", "enqueue:mail:email.send").do("PUT", path, `{"expression":"31 2 * * *","kind":"news"}`, 403).problem("forbidden")
	if list := into[api.List[api.Schedule]](f.do("GET", "/queues/mail/schedules", nil, 200)); len(list.Items) != 1 {
		t.Errorf("%+v", list)
	}
	id := into[api.Added](f.as("operate:*").do("POST", path+"/run", nil, 201)).ID
	if job := into[api.Job](f.do("GET", "/jobs/"+id, nil, 200)); job.Kind != "news" {
		t.Errorf("%+v", job)
	}
	if s := into[api.Schedule](f.do("GET", path, nil, 200)); len(s.Last) != 1 || !s.Last[0].Manual || s.Last[0].Job != id {
		t.Errorf("%+v", s)
	}
	f.do("DELETE", path, nil, 204)
	f.do("DELETE", path, nil, 404).problem("not-found")
	f.do("GET", path, nil, 404).problem("not-found")
}

func TestChannelsAreListedAndShown(t *testing.T) {
	redistest.AllBackends(t, func(t *testing.T, db *rdb.DB) {
		f := setupOn(t, db, api.Config{})
		channel, err := distribute.Open(f.Context(), handle.New(f.db), "web")
		f.must(err)
		f.must(channel.Subscribe(f.Context(), "countries", "country-day by=day,country format=auto"))
		if list := into[api.List[api.Channel]](f.do("GET", "/channels", nil, 200)); len(list.Items) != 1 || list.Items[0].Subscribers != 1 {
			t.Errorf("%+v", list)
		}
		if status := into[api.ChannelStatus](f.do("GET", "/channels/web", nil, 200)); len(status.Subscribers) != 1 || status.Subscribers[0].Name != "countries" {
			t.Errorf("%+v", status)
		}
		if counts := into[api.ChannelCounts](f.do("GET", "/channels/web/counts?subscriber=countries", nil, 200)); len(counts.Rows) != 0 || counts.Subscriber != "countries" {
			t.Errorf("%+v", counts)
		}
		r := f.request("GET", "/api/v1/channels/web/counts?subscriber=countries", nil)
		r.Header.Set("Accept", "text/csv")
		if a := f.send(r, 200); a.text != "day,country,requests\n" {
			t.Errorf("%q", a.text)
		}
		f.must(channel.Subscribe(f.Context(), "short", "country-day by=country format=auto"))
		r = f.request("GET", "/api/v1/channels/web/counts?subscriber=short", nil)
		r.Header.Set("Accept", "text/csv")
		if a := f.send(r, 200); a.text != "country,requests\n" {
			t.Errorf("%q", a.text)
		}
		f.must(channel.Subscribe(f.Context(), "people", "country-day by=day visitors=day format=auto"))
		r = f.request("GET", "/api/v1/channels/web/counts?subscriber=people", nil)
		r.Header.Set("Accept", "text/csv")
		if a := f.send(r, 200); a.text != "day,requests,visitors\n" {
			t.Errorf("%q", a.text)
		}
		if counts := into[api.ChannelCounts](f.do("GET", "/channels/web/counts?subscriber=people", nil, 200)); counts.Visitors == nil || *counts.Visitors != 0 || counts.People != nil || counts.Crawlers != nil || counts.PeopleBy != "day,crawler" {
			t.Errorf("%+v", counts)
		}
		f.must(channel.Subscribe(f.Context(), "crawlers", "country-day by=day,crawler_class format=auto"))
		if counts := into[api.ChannelCounts](f.do("GET", "/channels/web/counts?subscriber=crawlers", nil, 200)); counts.People == nil || *counts.People != 0 || counts.Crawlers == nil || counts.PeopleBy != "" {
			t.Errorf("%+v", counts)
		}
		f.do("GET", "/channels/web/counts", nil, 400).problem("invalid")
		for _, days := range []string{"from=yesterday", "to=2026-02-30"} {
			f.do("GET", "/channels/web/counts?subscriber=countries&"+days, nil, 400).problem("invalid")
		}
		f.do("GET", "/channels/web/counts?subscriber=none", nil, 404).problem("not-found")
		f.do("GET", "/channels/none", nil, 404).problem("not-found")
		f.as("view:web").do("GET", "/channels", nil, 403).problem("forbidden")
	})
}

func TestChatsAreShownWithoutMessages(t *testing.T) {
	t.Parallel()
	f := setup(t)
	chats := group.NewClient(handle.New(f.db))
	_, err := chats.Create(f.Context(), "team", &group.CreateOptions{Members: []string{"ada", "bob"}})
	f.must(err)
	_, err = chats.Send(f.Context(), "team", "ada", chat.Content{Body: []byte("hush")})
	f.must(err)
	list := f.do("GET", "/chats?member=bob", nil, 200)
	if l := into[api.List[api.ChatMembership]](list); len(l.Items) != 1 || l.Items[0].Chat != "team" || l.Items[0].Unread != 1 {
		t.Errorf("the list is %s", list.text)
	}
	shown := f.do("GET", "/chats/team?limit=1", nil, 200)
	one := into[api.Chat](shown)
	if one.Kept != 1 || len(one.Members.Items) != 1 || one.Members.Complete || strings.Contains(list.text+shown.text, "hush") {
		t.Errorf("the chat is %s", shown.text)
	}
	if rest := into[api.Chat](f.do("GET", "/chats/team?limit=1&cursor="+one.Members.Next, nil, 200)).Members; len(rest.Items) != 1 || rest.Items[0].Name != "bob" {
		t.Errorf("the second page is %+v", rest)
	}
	f.do("GET", "/chats", nil, 400).problem("invalid")
	f.do("GET", "/chats/none", nil, 404).problem("not-found")
	f.do("GET", "/chats/"+strings.Repeat("x", 1000), nil, 400).problem("invalid")
	f.as("view:team").do("GET", "/chats/team", nil, 403).problem("forbidden")
}
