package kinds_test

import (
	"net/http"
	"strings"
	"testing"

	"skidway/queue"
	"skidway/workers/kinds"
)

// What was encrypted once is not sent in the clear later, whatever came first.
func TestRedirectsNeverLeaveEncryption(t *testing.T) {
	t.Parallel()
	at := func(url string) *http.Request {
		r, err := http.NewRequest(http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	h := kinds.NewHTTP(kinds.HTTPConfig{AllowRedirects: true})
	if err := h.Redirect(at("http://a/"), at("http://a/"), at("https://a/")); err == nil || !strings.Contains(err.Error(), "from https to http") {
		t.Errorf("http, https, http: %v", err)
	}
	if err := h.Redirect(at("https://a/"), at("http://a/")); err != nil {
		t.Errorf("http, https: %v", err)
	}
}

func TestRedirectsToOtherHostsCarryNothingOfTheJob(t *testing.T) {
	t.Parallel()
	headers := make(chan http.Header, 10)
	other := serve(t, "127.0.0.2", func(_ http.ResponseWriter, r *http.Request) { headers <- r.Header })
	server := serve(t, "127.0.0.1", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, other, http.StatusTemporaryRedirect)
		} else if r.URL.Path == "/loop" {
			http.Redirect(w, r, "/loop", http.StatusFound)
		} else {
			headers <- r.Header
			http.Redirect(w, r, "/away", http.StatusTemporaryRedirect)
		}
	})
	h := inside(t, kinds.HTTPConfig{AllowRedirects: true, Secrets: map[string]string{"shop": "s"}})
	resultOf(t, request(t, h, kinds.HTTPArgs{URL: server + "/?secret=1", Body: "b", Sign: "shop", Headers: map[string]string{"X-Token": "t", "Authorization": "a"}}))
	if first := <-headers; first.Get("X-Token") != "t" || first.Get("Skidway-Signature") == "" {
		t.Errorf("%v", first)
	}
	if second := <-headers; second.Get("X-Token")+second.Get("Authorization")+second.Get("Skidway-Signature")+second.Get("Idempotency-Key")+second.Get("Referer") != "" {
		t.Errorf("%v", second)
	}
	if outcome := request(t, h, kinds.HTTPArgs{URL: server + "/loop"}); outcome.As != queue.AsDead || !strings.Contains(outcome.Reason, "more than 10") {
		t.Error(outcome)
	}
}
