package accesslog_test

import (
	"bytes"
	"testing"

	"skidway/distribute/accesslog"
)

// FuzzFiles reads files in every wrapper, in a layout, and in the format that they seem to
// have: a parser that goes on from a state must go on as the other does.
func FuzzFiles(f *testing.F) {
	for _, format := range accesslog.Formats() {
		f.Add([]byte(format.Example()), `%h %t "%r" %>s %b`)
	}
	for name, wrap := range wrap {
		f.Add([]byte(wrap(combinedLine)+"\n"+wrap(caddyLine)+"\n"+combinedLine), name+`: $remote_addr [$time_local] "$request" $status`)
	}
	f.Add([]byte("2026-11-20T14:00:05Z stdout P 8.8\n2026-11-20T14:00:05Z stderr P x\n2026-11-20T14:00:05Z stdout F .8.8"), "$http_x_forwarded_for|$msec|$request_time")
	f.Add([]byte(binaryField("MESSAGE", combinedLine)+binaryField("NOTE", "a\nb")+"MESSAGE="+combinedLine), "journal: $remote_addr [$time_local]")
	f.Add([]byte(`{"log":"8.8","stream":"stdout"}`), `LogFormat "%{X-Forwarded-For}i %{%Y-%m-%d}t %D"`)
	f.Fuzz(func(t *testing.T, content []byte, layout string) {
		lines := bytes.Split(content, []byte("\n"))
		options := accesslog.Options{Fields: accesslog.Fields(allFields...)}
		for _, w := range accesslog.Wrappers() {
			for _, name := range []string{"combined", "json(address=ip,time=at)", w.Name + ":caddy"} {
				checkState(t, resumed(t, w.Name+":"+name, options), lines, func(state string) accesslog.Parser {
					o := options
					o.State = state
					return resumed(t, w.Name+":"+name, o)
				})
			}
		}
		if format, err := accesslog.ByLayout(layout); err == nil {
			checkState(t, format.New(options), lines, func(string) accesslog.Parser { return format.New(options) })
			format.ExplainLines(lines)
		}
		if choice, err := accesslog.Choose(lines); err == nil {
			checkState(t, choice.NewAuto(options), lines, func(state string) accesslog.Parser { return restored(t, state) })
		}
		explanation := accesslog.Explain(lines)
		explain := explanation.Format.Explainer()
		for _, line := range lines {
			explain(line)
		}
		accesslog.OtherLog(layout, lines)
	})
}

// checkState fails unless a parser with the state of another one reads the next line as the
// other does, also where a line is open. It reads all fields, which must not panic.
func checkState(t *testing.T, p accesslog.Parser, lines [][]byte, next func(state string) accesslog.Parser) {
	t.Helper()
	for _, line := range lines {
		var other accesslog.Parser
		if p.Held() {
			other = next(p.State())
		}
		record, verdict := p.Parse(line)
		if other != nil {
			if r, v := other.Parse(line); r != record || v != verdict {
				t.Fatalf("%v %d, after a continuation %v %d: %q in %q", record, verdict, r, v, line, lines)
			}
		}
		if verdict != accesslog.Parsed {
			continue
		}
		v := p.Values()
		v.Time()
		v.Status()
		v.Bytes()
		v.Duration()
		for _, field := range allFields {
			v.Get(field)
		}
	}
	p.Flush(func(accesslog.Record, accesslog.Verdict) {})
	if p.Open() {
		t.Fatalf("a line is open at the end: %q", lines)
	}
}
