package accesslog_test

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"skidway/distribute/accesslog"
)

// wrap has a function for each wrapper that puts a line into it.
var wrap = map[string]func(line string) string{
	"docker": func(line string) string {
		return fmt.Sprintf(`{"log":%s,"stream":"stdout","time":"2026-11-20T14:00:05.123456789Z"}`, quoted(line+"\n"))
	},
	"cri":       func(line string) string { return "2026-11-20T14:00:05.123456789Z stdout F " + line },
	"syslog":    func(line string) string { return "Nov  2 14:00:05 host nginx[12]: " + line },
	"fluentd":   func(line string) string { return "2026-11-20T14:00:05+01:00\tweb.access\t" + line },
	"timestamp": func(line string) string { return "2026-11-20T14:00:05.123Z " + line },
	"compose":   func(line string) string { return "\x1b[36mweb-1  | \x1b[0m" + line },
	"journal": func(line string) string {
		return "__REALTIME_TIMESTAMP=1795183205123456\nPRIORITY=6\nMESSAGE=" + line + "\n_SYSTEMD_UNIT=nginx.service\n"
	},
	"message": func(line string) string {
		return `{"@timestamp":"2026-11-20T14:00:05Z","message":` + quoted(line) + `}`
	},
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func TestEveryFormatIsDetectedInEveryWrapper(t *testing.T) {
	t.Parallel()
	for name, wrap := range wrap {
		for _, f := range accesslog.Formats() {
			var lines [][]byte
			for line := range bytesLines(f.Example()) {
				lines = append(lines, byteLines([]string{wrap(line)})...)
			}
			got, err := accesslog.Detect(lines)
			if want := name + ":" + f.Name(); err != nil || got.Name() != want {
				t.Errorf("detected %q, %v; want %q: %s", got.Name(), err, want, lines)
				continue
			}
			p := parser(t, got.Name(), nil)
			var record accesslog.Record
			for _, line := range lines {
				if r, verdict := p.Parse(line); verdict == accesslog.Parsed {
					record = r
				}
			}
			if addr := record.Addr.String(); addr != "203.0.113.7" {
				t.Errorf("%s: address %s", got.Name(), addr)
			}
		}
	}
}

func bytesLines(s string) func(func(string) bool) {
	return func(yield func(string) bool) {
		for _, line := range byteLines([]string{s}) {
			if !yield(string(line)) {
				return
			}
		}
	}
}

func TestWrappersInWrappersArePeeled(t *testing.T) {
	t.Parallel()
	line := `8.8.8.8 - - ` + stamp + request
	for want, line := range map[string]string{
		"docker:timestamp:combined": wrap["docker"](wrap["timestamp"](line)),
		"compose:syslog:combined":   wrap["compose"](wrap["syslog"](line)),
		"cri:message:combined":      wrap["cri"](wrap["message"](line)),
		"docker:docker:docker:caddy": wrap["docker"](wrap["docker"](wrap["docker"](
			`{"ts":1693840791.75,"request":{"client_ip":"8.8.8.8"}}`))),
	} {
		if got, err := accesslog.Detect([][]byte{[]byte(line)}); err != nil || got.Name() != want {
			t.Errorf("detected %q, %v; want %q", got.Name(), err, want)
		}
	}
}

func TestSyslogIsPeeledInEveryForm(t *testing.T) {
	t.Parallel()
	line := strings.Replace(caddyLine, "1.1.1.1", "8.8.8.8", 1)
	for _, header := range []string{
		"Nov 20 14:00:05 host nginx: ",
		"<190>Nov  2 14:00:05 host nginx[12]: ",
		"2026-11-20T14:00:05.123456+01:00 host haproxy[12]: ",
		"<165>1 2026-11-20T14:00:05.003Z host nginx 8710 - - ",
		"<165>1 2026-11-20T14:00:05.003Z host nginx 8710 ID47 [a@1 k=\"x\\]y\"][b@2] \ufeff",
		"<134>Nov 20 14:00:05 haproxy[1]: ",                   // HAProxy, nginx with nohostname
		"2026-11-20T14:00:05.123456+01:00 haproxy[1]: ",       // the same in rsyslog's file format
		"Nov 20 14:00:05 alpine local0.info haproxy[14]: ",    // BusyBox
		"Nov 20 14:00:05 host-1 host haproxy: ",               // a host that the server writes, too
		"Nov 20 14:00:05.123456 host haproxy[1]: ",            // journalctl -o short-precise
		"Nov  2 14:00:05.123456 host haproxy.service[1234]: ", // with the unit
	} {
		format, err := accesslog.Detect(byteLines([]string{header + line}))
		if err != nil || format.Name() != "syslog:caddy" {
			t.Errorf("%q: detected %q, %v", header, format.Name(), err)
		}
		record, verdict := parser(t, "syslog:caddy", nil).Parse([]byte(header + line))
		if verdict != accesslog.Parsed || record.Addr.String() != "8.8.8.8" {
			t.Errorf("%q: %d, %v", header, verdict, record)
		}
	}
	for _, bad := range []string{"", "<190>", "<190>1 ", "<x>Nov 20 14:00:05 host a: ", "Nov 20 14:00:05 host", "Foo 20 14:00:05 host a: ", "<165>1 a b c d e [x",
		"Nov 20 14:00:05: " + line, "Nov 20 14:00:05. host a: " + line, "Nov 20 14:00:05.1234567 host a: " + line, "Nov 20 14:00 a b: " + line,
		"Nov 20 14:00:05 a b c d: " + line, "Nov 20 14:00:05 \"a\": " + line} {
		if _, verdict := parser(t, "syslog:caddy", nil).Parse([]byte(bad)); verdict != accesslog.Unparsable {
			t.Errorf("%q: %d", bad, verdict)
		}
	}
}

// binaryField returns a field of journald's export whose value has control characters.
func binaryField(name, value string) string {
	length := binary.LittleEndian.AppendUint64(nil, uint64(len(value)))
	return name + "\n" + string(length) + value + "\n"
}

func TestBinaryFieldsOfTheJournalAreRead(t *testing.T) {
	t.Parallel()
	agent := func(n int) string { return combinedLine + strings.Repeat("\x1b", n-len(combinedLine)) }
	for _, c := range []struct{ name, text, want string }{
		{"message", binaryField("MESSAGE", agent(200)), "p"},
		{"message whose length has a newline", binaryField("MESSAGE", agent(0x10a)) + binaryField("MESSAGE", agent(0xa00)), "pp"},
		{"message with newlines", binaryField("MESSAGE", combinedLine+"\nx\n\n") + "MESSAGE=" + combinedLine + "\n", "pp"},
		{"other field that looks like a message", binaryField("NOTE", "a\nMESSAGE="+combinedLine) + "MESSAGE=" + combinedLine + "\n", "p"},
		{"empty field", binaryField("NOTE", "") + "MESSAGE=" + combinedLine + "\n", "p"},
		{"message that is too long", binaryField("MESSAGE", strings.Repeat("\n", 1<<20+1)) + "MESSAGE=" + combinedLine + "\n", "up"},
		{"name without a value behind", "NOTE\n" + combinedLine + "\nMESSAGE=" + combinedLine + "\n", "pp"},
		{"length that is not that of the line", "NOTE\n\x05\x00\x00\x00\x00\x00\x00\x00" + combinedLine + "\nMESSAGE=" + combinedLine + "\n", "pp"},
		{"value that does not arrive whole", "NOTE\n\x88\x13\x00\x00\x00\x00\x00\x00a\n\n__CURSOR=s\nMESSAGE=" + combinedLine + "\n", "p"},
		{"value that does not arrive whole before a message", "NOTE\n\x88\x13\x00\x00\x00\x00\x00\x00a\nMESSAGE=" + combinedLine + "\n\n__CURSOR=s\nMESSAGE=" + combinedLine + "\n", "pp"},
		{"message that does not arrive whole", "MESSAGE\n\x88\x13\x00\x00\x00\x00\x00\x00a\n\n__CURSOR=s\nMESSAGE=" + combinedLine + "\n", "up"},
		{"number that is no name", "200\nMESSAGE=" + combinedLine + "\n", "up"},
		{"message that is cut off", "MESSAGE=" + combinedLine + "\nMESSAGE\n\x05\x00\x00", "pu"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			p, got := parser(t, "journal:combined", nil), ""
			letter := func(_ accesslog.Record, verdict accesslog.Verdict) {
				got += map[accesslog.Verdict]string{accesslog.Parsed: "p", accesslog.Unparsable: "u"}[verdict]
			}
			for line := range strings.Lines("PRIORITY=6\n" + c.text + "_SYSTEMD_UNIT=nginx.service\n\n") {
				letter(p.Parse([]byte(strings.TrimSuffix(line, "\n"))))
			}
			if p.Flush(letter); got != c.want || p.Open() {
				t.Errorf("%q, want %q; open: %v", got, c.want, p.Open())
			}
		})
	}
}

func TestBinaryFieldEndsWithALineThatIsTooLong(t *testing.T) {
	t.Parallel()
	length := "\x01\x00\x18\x00\x00\x00\x00\x00"
	for _, c := range []struct {
		lines []string // empty: one that is too long
		want  string
	}{
		{[]string{"NOTE", "", "MESSAGE=" + combinedLine}, "##8"},
		{[]string{"NOTE", length + "a", "", "MESSAGE=" + combinedLine}, "###8"},
		{[]string{"NOTE", length + "a", "MESSAGE=" + combinedLine, "", "MESSAGE=" + combinedLine}, "####8"},
		{[]string{"MESSAGE", "", "MESSAGE=" + combinedLine}, "#-8"},
		{[]string{"MESSAGE", length + "a", "", "MESSAGE=" + combinedLine}, "##-8"},
	} {
		p, got := parser(t, "journal:combined", nil), ""
		for _, text := range c.lines {
			var line []byte // as a Splitter passes it on
			if text != "" {
				line = []byte(text)
			}
			got += letter(p.Parse(line))
		}
		if got != c.want || p.Open() {
			t.Errorf("%.40q: %s, want %s; open: %v", c.lines, got, c.want, p.Open())
		}
	}
}

// What follows a commit within a binary field is passed over up to its end.
func TestReadingGoesOnInsideABinaryField(t *testing.T) {
	t.Parallel()
	inside := strings.Repeat("MESSAGE="+combinedLine+"\n", 3)
	for name, c := range map[string]struct{ field, want string }{
		"of another name":            {binaryField("NOTE", inside), ""},
		"a message":                  {binaryField("MESSAGE", inside), "u"},
		"whose length has a newline": {binaryField("NOTE", strings.Repeat("x\n", 0x50a/2)), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lines := strings.Split(strings.TrimSuffix(c.field, "\n"), "\n")
			for stop := 1; stop < len(lines); stop++ {
				p, got := parser(t, "journal:combined", nil), ""
				count := func(_ accesslog.Record, verdict accesslog.Verdict) {
					got += map[accesslog.Verdict]string{accesslog.Parsed: "p", accesslog.Unparsable: "u"}[verdict]
				}
				for i, line := range append(lines, "", "__CURSOR=s", "MESSAGE="+combinedLine) {
					if i == stop {
						p.Flush(count)
						if p.Open() {
							t.Fatal("open when all was counted")
						}
						restored, err := accesslog.ByName("journal:combined")
						if err != nil {
							t.Fatal(err)
						}
						p = restored.New(accesslog.Options{State: p.State()})
					}
					count(p.Parse([]byte(line)))
				}
				if want := c.want + "p"; got != want {
					t.Errorf("stopped before line %d: %q, want %q", stop, got, want)
				}
			}
		})
	}
}
