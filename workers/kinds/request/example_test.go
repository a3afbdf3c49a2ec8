package request_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"skidway/workers"
	"skidway/workers/kinds/request"
	"skidway/workers/workerstest"
)

// A receiver of signed requests, and a job that sends it one.
func ExampleClient() {
	t := &testing.T{} // your test's own

	const secret = "known to both sides"
	receiver := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		stamp, sent, _ := strings.Cut(r.Header.Get("Skidway-Signature"), ",v1=")
		stamp = strings.TrimPrefix(stamp, "t=")
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(stamp + "." + string(body)))
		signature, _ := hex.DecodeString(sent)
		seconds, _ := strconv.ParseInt(stamp, 10, 64)
		if !hmac.Equal(mac.Sum(nil), signature) || time.Since(time.Unix(seconds, 0)).Abs() > 5*time.Minute {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, "thanks for %s", body)
	}))
	defer receiver.Close()

	h := request.New(request.Config{
		AllowPrivate: true, // the receiver is on this host
		Secrets:      map[string]string{"shop": secret},
	})
	defer h.Close()

	order := request.Args{URL: receiver.URL, JSON: []byte(`{"order":7}`), Sign: "shop"}
	outcome := workerstest.Run(t, workers.Typed(h.Do), workerstest.Job{Args: order})
	fmt.Println(outcome)
	fmt.Printf("%s\n", outcome.Result)
	// Output:
	// http.request: succeeded
	// {"status":200,"headers":{"Content-Type":"text/plain; charset=utf-8"},"body":"thanks for {\"order\":7}"}
}

func ExampleClient_Fetch() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "day,requests\n")
	}))
	defer server.Close()
	h := request.New(request.Config{AllowPrivate: true})
	defer h.Close()
	data, kind, err := h.Fetch(context.Background(), server.URL, 1<<20)
	fmt.Printf("%q %s %v\n", data, kind, err)
	// Output:
	// "day,requests\n" text/plain; charset=utf-8 <nil>
}
