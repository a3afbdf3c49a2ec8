package dash_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"skidway/internal/redistest"
	"skidway/queue"
)

func TestPagesAndActionsOnACluster(t *testing.T) {
	t.Parallel()
	f := setup(t, redistest.ClusterDB(t))
	names := []string{"mail", "docs", "reports", "web"} // of several masters
	ids := map[string]string{}
	for _, name := range names {
		ids[name] = f.add(name, "email.send", `{"to":"ada"}`, queue.Options{})
		f.bury(name, "connection refused")
		f.count(name, "email.send", "connection refused", 3, 1)
		f.add(name, "email.send", `{"to":"ada"}`, queue.Options{Delay: time.Hour})
		f.serve(queue.PoolInfo{Name: "worker-" + name, Queues: []string{name}, Concurrency: 2, State: "running"}, time.Minute)
	}
	f.awaitQueues()
	f.want(f.get("/"), http.StatusOK, names...)
	f.want(f.get("/queues"), http.StatusOK, names...)
	f.want(f.get("/errors"), http.StatusOK, names...)
	f.want(f.get("/workers"), http.StatusOK, "worker-mail", "worker-docs", "worker-reports", "worker-web")
	f.want(f.get("/jobs?state=delayed"), http.StatusOK, "4 shown. Looked at all 4 delayed jobs.")
	for _, path := range []string{"/operations", "/channels", "/counts", "/chats", "/redis", "/settings", "/enqueue"} {
		f.want(f.get(path), http.StatusOK)
	}

	server := httptest.NewServer(f.dash)
	t.Cleanup(server.Close)
	t.Cleanup(f.dash.EndStreams)
	overview := f.stream(server.URL, "/")
	for _, name := range names {
		f.want(f.follow(f.post("/queues/"+name+"/pause", url.Values{"note": {"it moves"}})), http.StatusOK, "it moves")
		f.await(overview, name)
		question := f.get("/jobs/question?all=1&do=retry&state=dead&queue=" + name)
		f.want(f.follow(f.post("/jobs/change", hidden(question.body, "/jobs/change"))), http.StatusOK, "1 job runs again.")
		f.want(f.follow(f.post("/schedules/put", url.Values{"new": {"1"}, "name": {"nightly"}, "queue": {name}, "expr": {"@daily"}, "kind": {"email.send"}, "args": {"{}"}})), http.StatusOK, "Schedule nightly is saved.")
		f.want(f.follow(f.post("/jobs/"+ids[name]+"/cancel", nil)), http.StatusOK)
	}
	f.want(f.get("/schedules"), http.StatusOK, names...)
	f.want(f.get("/audit"), http.StatusOK, append(names, "retry", "put schedule", "cancel")...)
}
