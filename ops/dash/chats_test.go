package dash_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"skidway/distribute/chat"
	"skidway/distribute/chat/group"
	"skidway/internal/redistest"
)

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
	if entries, _, err := f.audit.List(t.Context(), "", 1); err != nil || len(entries) != 1 || entries[0].Action != "drop member" {
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
