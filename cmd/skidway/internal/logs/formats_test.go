package logs

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"skidway/distribute/accesslog"
	"skidway/distribute/stream"
)

// What is printed to be pasted into a shell is taken by it as it is, whatever a log holds.
func TestAdviceIsQuotedForTheShell(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"client.ip": "client.ip", "$(reboot)": "'$(reboot)'", "it's": `'it'\''s'`, "": "KEY",
	} {
		lines := []accesslog.LineExplanation{{Fields: []accesslog.FieldValue{{Name: key, Value: "8.8.8.8"}}}}
		if got := keyText(addressKey(lines), "KEY"); got != want {
			t.Errorf("%q: %s, want %s", key, got, want)
		}
	}
}

// A reader of the advice types the options that it names.
func TestAdviceNamesTheOptionsOfUnknownFormats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		line    string // with the client's address, and the server's
		options string
	}{
		"layout": {
			"req=7 ~ %[2]s ~ 2026-11-01 13:00:05.000 +0100 ~ GET /p?q=1 ~ 200 ~ %[1]s:51000 ~ 7ms",
			"--format '$field1 $field2 $field3 $field4 $time_iso8601 $field8 $request_method $request_uri $field11 $status $field13 $remote_addr $rest'",
		},
		"layout in a wrapper": {
			`2026-11-20T14:00:05.000000001Z stdout F INFO [%[2]s] "GET / HTTP/1.1" <%[1]s> {1793000000.123} "Mozilla"`,
			`--format cri:'$field1 [$field2] "$request" <$remote_addr> {$msec}$rest'`,
		},
		"JSON in a wrapper": {
			`{"log":"{\"srv\":{\"ip\":\"%[2]s\"},\"peer\":{\"ip\":\"%[1]s\"},\"day\":\"2026-11-20\",\"when\":\"2026-11-20T14:00:05Z\"}\n","stream":"stdout","time":"2026-11-20T14:00:05Z"}`,
			"--format docker:json --field address=peer.ip --field time=when",
		},
		"JSON with a list": {
			`{"host":"%[2]s","meta":{"t":1793000000123},"x-forwarded-for":"%[1]s, 10.0.0.9"}`,
			"--format json --field address=x-forwarded-for --field time=meta.t",
		},
		"JSON with a server": {
			`{"ts":1793000000,"server_ip":"9.9.9.9","peer":"%[1]s:443","self":"%[2]s"}`,
			"--format json --field address=peer --field time=ts",
		},
		"JSON with an array": {
			`{"self":"%[2]s","c":["%[1]s","10.0.0.1"],"t":{"at":"2026-11-20T14:00:05Z","modified":"2026-01-01T00:00:00Z"}}`,
			"--format json --field address=c --field time=t.at",
		},
		"JSON with a date and a time of day": {
			`{"srv":"%[2]s","ip":"%[1]s","date":"2026-11-20","time":"14:00:05"}`,
			"--format json --field address=ip --field date=date --field clock=time",
		},
		"logfmt in a wrapper": {
			`Nov  1 14:00:05 host app[12]: at=1793000000 srv=%[2]s client=%[1]s method=GET`,
			"--format syslog:logfmt --field address=client --field time=at --field method=method",
		},
		"JSON with the day first": {
			`{"srv":"%[2]s","ip":"%[1]s","at":"25/11/2026 14:00:05","res":{"code":404},"req":"GET /x HTTP/1.1"}`,
			"--format json --field address=ip --field time_dmy=at --field status=res.code --field request=req",
		},
		"JSON whose month may be the day": {
			`{"srv":"%[2]s","ip":"%[1]s","at":"10/11/2026 2:00:05 PM"}`,
			"--format json --field address=ip --field time_dmy=at",
		},
		"JSON with the month first": {
			`{"srv":"%[2]s","ip":"%[1]s","on":"11/25/2026","at":"14:00:05"}`,
			"--format json --field address=ip --field date_mdy=on --field clock=at",
		},
		"layout whose month may be the day": {
			"10/11/2026 14:00:05 %[2]s %[1]s /x 200 512",
			"--format '$time_dmy $field3 $remote_addr $field5 $status $rest'",
		},
		"layout beside pairs": {
			"25.11.2026 14:00:05 srv=%[2]s client=%[1]s user=x",
			"--format '$time srv=$field3 client=$remote_addr $rest'",
		},
	} {
		for kind, clients := range map[string][]string{"public": {"8.8.8.8", "8.8.4.4"}, "private": {"10.0.7.1", "10.0.7.2"}} {
			if kind == "private" && strings.HasPrefix(name, "layout") {
				continue // nothing in a line says which is the client
			}
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				var text strings.Builder
				for i := range 10 {
					fmt.Fprintf(&text, c.line+"\n", clients[i%2], "10.0.0.3")
				}
				path := filepath.Join(t.TempDir(), "app.log")
				if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
					t.Fatal(err)
				}
				e, err := explainFile(path, func() (stream.Object, error) { return stream.Open(path) }, "auto", 1)
				if err != nil {
					t.Fatal(err)
				}
				if advice := e.advice(); !strings.HasSuffix(advice, ": skidway logs count "+c.options+" '"+path+"'") {
					t.Fatalf("%s\nwant %s", advice, c.options)
				} else if warns := strings.Contains(advice, "_mdy for _dmy"); warns != strings.Contains(name, "month may be") {
					t.Error(advice)
				}
				if l := e.lines[0]; l.Verdict != accesslog.Parsed || l.Record.Addr.String() != clients[0] {
					t.Errorf("its first line is shown as %+v", l)
				}
				words := strings.NewReplacer("--format ", "\x00", " --field ", "\x00", "'", "").Replace(c.options)
				flags := formatFlags{format: strings.Split(words, "\x00")[1], keys: strings.Split(words, "\x00")[2:]}
				chosen, err := flags.name()
				if err != nil {
					t.Fatal(err)
				}
				format, err := accesslog.ByName(chosen)
				if err != nil {
					t.Fatal(err)
				}
				parser := format.New(accesslog.Options{})
				for i, line := range strings.Split(strings.TrimSpace(text.String()), "\n") {
					if record, verdict := parser.Parse([]byte(line)); verdict != accesslog.Parsed || record.Addr.String() != clients[i%2] {
						t.Errorf("%s: %d, %v", line, verdict, record)
					}
				}
			})
		}
	}
}
