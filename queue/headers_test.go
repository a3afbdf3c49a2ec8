package queue

import (
	"encoding/json"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"skidway/internal/handle"
	"skidway/internal/redistest"
)

// TestHeadersAreStoredAsJSON compares the encoding of headers with that of encoding/json.
func TestHeadersAreStoredAsJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.StringMatching(`[a-z0-9-]{0,55}`), rapid.String(), rapid.StringMatching(`[ -~]{0,3}`))
		headers := rapid.MapOf(text, text).Draw(t, "headers")
		if len(headers) == 0 {
			return
		}
		stored, _ := json.Marshal(headers)
		want := fmt.Sprintf("%d:%s", len(stored), stored)
		if got := string(appendHeaders(nil, headers)); got != want {
			t.Fatalf("%q is stored as %s, want %s", headers, got, want)
		}
	})
}

// FuzzHeadersAreReadAsJSON compares the decoding of headers with that of encoding/json.
func FuzzHeadersAreReadAsJSON(f *testing.F) {
	for _, text := range []string{
		`{"a":"b"}`, `{"a":"b","c":"d"}`, `{"a":"b","a":"c"}`, `{ "a": "b" }`, `{}`, `{"":""}`, `{"a":"b"`, `{"a":"b",}`, `{"a":"b"}}`, `{"a":"b";"c":"d"}`,
		`{"a":"\n"}`, `{"é":"<&>"}`, "{\"a\":\"\x7f\xff\"}", `{"a":1}`, `null`, `[]`, `{`, `{"`, `{"a`, `{"a":`, `{"a":"`, ``,
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var want map[string]string
		wantErr := json.Unmarshal([]byte(text), &want)
		got, err := decodeHeaders(text)
		if (err == nil) != (wantErr == nil) || err == nil && !maps.Equal(got, want) {
			t.Errorf("%q has the headers %q, %v; want %q, %v", text, got, err, want, wantErr)
		}
	})
}

func TestHeadersOfATraceNeedFewAllocations(t *testing.T) {
	headers := map[string]string{"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
	text, buffer := `{"traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}`, make([]byte, 0, 100)
	for what, test := range map[string]struct {
		most float64
		do   func()
	}{
		"encode": {0, func() { appendHeaders(buffer, headers) }},
		"decode": {3, func() { _, _ = decodeHeaders(text) }},
	} {
		if n := testing.AllocsPerRun(100, test.do); n > test.most {
			t.Errorf("%s: %v allocations, want at most %v", what, n, test.most)
		}
	}
}

// TestWithoutMiddlewareACallAllocatesNothingMore is why tracing that is off costs nothing.
func TestWithoutMiddlewareACallAllocatesNothingMore(t *testing.T) {
	client, err := NewClient(handle.New(redistest.DB(t)), nil)
	if err != nil {
		t.Fatal(err)
	}
	args, options := Raw("k", []byte("{}")), &Options{Queue: "q"}
	const calls = 1000
	each := func(f func()) float64 { // with its fraction: the race detector empties pools at random
		return testing.AllocsPerRun(1, func() {
			for range calls {
				f()
			}
		}) / calls
	}
	call := each(func() { _, err = client.Enqueue(t.Context(), args, options) })
	bare := each(func() {
		q, job, _ := client.prepare(NewJob{args, *options})
		q.enqueueOne(t.Context(), job, options)
	})
	if err != nil || call > bare+0.5 {
		t.Errorf("%v: %.2f allocations, the call without the place for middleware has %.2f", err, call, bare)
	}
}
