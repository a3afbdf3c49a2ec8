package kinds_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"skidway/queue"
	"skidway/workers/kinds"
	"skidway/workers/kinds/command"
	"skidway/workers/kinds/email"
	"skidway/workers/kinds/request"
)

// Attachments are fetched within the bounds of requests.
var _ email.Fetcher = (*request.Client)(nil)

func TestWrongArgsAreRefusedByTheFieldsName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, args, want string }{
		"no args":                   {"http.request", ``, "want a JSON object"},
		"no object":                 {"http.request", `["url"]`, "want a JSON object"},
		"broken JSON":               {"http.request", `{"url":`, "unexpected EOF"},
		"two values":                {"http.request", `{"url":"http://a"} {}`, "more than one"},
		"unknown field":             {"http.request", `{"url":"http://a","methd":"PUT"}`, `unknown field "methd"`},
		"wrong type":                {"http.request", `{"url":7}`, "field url: a number can't go there, want a string"},
		"wrong type inside":         {"exec.run", `{"command":"a","args":"b"}`, "field args: a string can't go there, want an array"},
		"no URL":                    {"http.request", `{}`, "field url: it is missing"},
		"URL without a host":        {"http.request", `{"url":"http:///a"}`, "field url: it has no host"},
		"URL of a file":             {"http.request", `{"url":"file:///etc/passwd"}`, `field url: it begins with "file:"`},
		"URL of a socket":           {"http.request", `{"url":"unix:/run/a.sock"}`, `field url: it begins with "unix:"`},
		"no URL at all":             {"http.request", `{"url":"http://a:b:c/"}`, "field url: it is not a URL"},
		"no method":                 {"http.request", `{"url":"http://a","method":"GET /"}`, "field method"},
		"CONNECT":                   {"http.request", `{"url":"http://a","method":"CONNECT"}`, "field method"},
		"no header":                 {"http.request", `{"url":"http://a","headers":{"X: y":""}}`, "field headers"},
		"line break in a header":    {"http.request", `{"url":"http://a","headers":{"X":"a\r\nY: b"}}`, "field headers: the value of X"},
		"header of the worker":      {"http.request", `{"url":"http://a","headers":{"content-length":"1"}}`, "Content-Length is set by the worker"},
		"two bodies":                {"http.request", `{"url":"http://a","body":"x","json":{}}`, "field body"},
		"no status":                 {"http.request", `{"url":"http://a","expect":["ok"]}`, "field expect"},
		"status out of range":       {"http.request", `{"url":"http://a","expect":[20]}`, "field expect: 20"},
		"range the wrong way":       {"http.request", `{"url":"http://a","expect":["299-200"]}`, "field expect: 299-200"},
		"no command":                {"exec.run", `{"args":["a"]}`, "field command: it is missing"},
		"zero byte in an arg":       {"exec.run", `{"command":"a","args":["b","c\u0000"]}`, "field args: number 2"},
		"no channel":                {"logs.ship", `{"paths":["a"]}`, "channel"},
		"bad channel":               {"logs.ship", `{"channel":"my web","paths":["a"]}`, "field channel"},
		"bad subscribers":           {"logs.ship", `{"channel":"web","paths":["a"],"subscribers":["a","b/c"]}`, "field subscribers[1]"},
		"bad subscriber":            {"logs.report", `{"channel":"web","subscriber":"a b"}`, "field subscriber"},
		"bad pattern":               {"logs.count", `{"paths":["/logs/[a"]}`, "field paths[0]"},
		"half a row":                {"logs.count", `{"paths":["a"],"top":1.5}`, "want a whole number"},
		"no paths to ship":          {"logs.ship", `{"channel":"web"}`, "paths"},
		"empty path":                {"logs.count", `{"paths":["a",""]}`, "paths[1]"},
		"bad day":                   {"logs.count", `{"paths":["a"],"day":"monday"}`, "day"},
		"bad zone":                  {"logs.count", `{"paths":["a"],"tz":"Mars/Base"}`, "tz"},
		"bad by":                    {"logs.count", `{"paths":["a"],"by":["weekday"]}`, "by"},
		"bad where":                 {"logs.count", `{"paths":["a"],"where":"colour == 1"}`, "where"},
		"bad format":                {"logs.count", `{"paths":["a"],"format":"klingon"}`, "format"},
		"no subscriber":             {"logs.report", `{"channel":"web"}`, "subscriber"},
		"day and from":              {"logs.report", `{"channel":"web","subscriber":"s","day":"today","from":"today"}`, "day"},
		"bad from":                  {"logs.report", `{"channel":"web","subscriber":"s","from":"1.11."}`, "from"},
		"unknown field of a report": {"logs.report", `{"channel":"web","subscriber":"s","until":"today"}`, "until"},
		"unknown field of a mail":   {"email.send", `{"recipient":"a@example.com"}`, `unknown field "recipient"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := kinds.Check(c.kind, []byte(c.args))
			if !errors.Is(err, queue.ErrInvalid) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

func TestValidArgsAndThoseOfOtherKindsPass(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ kind, args string }{
		{"http.request", `{"url":"https://example.com/a?b=c","method":"PUT","headers":{"X":"y\tz"},"json":null,"expect":[200,"404","3xx","500-503"],"sign":"shop"}`},
		{"exec.run", `{"command":"report","args":["--day","2026-01-02",""],"stdin":"x"}`},
		{"report.build", `no JSON`},
	} {
		if err := kinds.Check(c.kind, []byte(c.args)); err != nil {
			t.Errorf("%s %s: %v", c.kind, c.args, err)
		}
	}
}

// Args that Check accepts can be decoded, and encoded again as args that it accepts.
func FuzzCheck(f *testing.F) {
	f.Add("http.request", []byte(`{"url":"http://a/","expect":["2xx",404],"json":{"a":[1]}}`))
	f.Add("exec.run", []byte(`{"command":"a","args":["b"]}`))
	f.Add("email.send", []byte(`{"to":"a@example.com","subject":"b","text":"c"}`))
	f.Fuzz(func(t *testing.T, kind string, data []byte) {
		if kinds.Check(kind, data) != nil {
			return
		}
		var args queue.Args
		switch kind {
		case "http.request":
			args = &request.Args{}
		case "exec.run":
			args = &command.Args{}
		case "email.send":
			args = &email.Args{}
		default:
			return
		}
		if err := json.Unmarshal(data, args); err != nil {
			t.Fatalf("%s passed: %v", data, err)
		}
		again, err := json.Marshal(args)
		if err != nil {
			t.Fatal(err)
		}
		if err := kinds.Check(kind, again); err != nil {
			t.Errorf("%s became %s: %v", data, again, err)
		}
	})
}

func ExampleCheck() {
	fmt.Println(kinds.Check("http.request", []byte(`{"uri": "https://example.com"}`)))
	fmt.Println(kinds.Check("http.request", []byte(`{"url": "example.com"}`)))
	// Output:
	// not valid: args of http.request: unknown field "uri"
	// not valid: args of http.request: field url: it begins with ":": want http:// or https://
}
