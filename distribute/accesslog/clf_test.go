package accesslog_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"
	_ "time/tzdata" // zones must not depend on the machine

	"skidway/distribute/accesslog"
)

const (
	stamp   = `[10/Oct/2000:13:55:36 -0700]`
	request = ` "GET / HTTP/1.1" 200 23 "-" "curl/8.5"`
)

// parser returns a new parser of the named format.
func parser(tb interface {
	Helper()
	Fatal(...any)
}, format string, zone *time.Location) accesslog.Parser {
	tb.Helper()
	f, err := accesslog.ByName(format)
	if err != nil {
		tb.Fatal(err)
	}
	return f.New(accesslog.Options{Zone: zone})
}

// lineCase is a line and what must be read from it; "" is no address, and the
// day "" is an unparsable line.
type lineCase struct{ name, line, addr, day string }

func checkLines(t *testing.T, format string, cases []lineCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			record, verdict := parser(t, format, nil).Parse([]byte(c.line))
			if (verdict == accesslog.Parsed) != (c.day != "") {
				t.Fatalf("verdict %d of %q", verdict, c.line)
			}
			if verdict != accesslog.Parsed {
				return
			}
			addr := ""
			if record.Addr.IsValid() {
				addr = record.Addr.String()
			}
			if addr != c.addr || record.Day.String() != c.day {
				t.Errorf("got %s on %s, want %s on %s: %q", addr, record.Day, c.addr, c.day, c.line)
			}
		})
	}
}

func TestCombinedFindsAddressAndDay(t *testing.T) {
	t.Parallel()
	const day = "2000-10-10"
	checkLines(t, "combined", []lineCase{
		{"usual", `8.8.8.8 - - ` + stamp + request, "8.8.8.8", day},
		{"user", `8.8.8.8 - frank ` + stamp + request, "8.8.8.8", day},
		{"user with blanks", `8.8.8.8 - frank van dyke ` + stamp + request, "8.8.8.8", day},
		{"no referer and agent", `8.8.8.8 - - ` + stamp + ` "GET / HTTP/1.1" 200 23`, "8.8.8.8", day},
		{"forwarded field at the end", `10.0.0.9 - - ` + stamp + request + ` "8.8.8.8"`, "10.0.0.9", day},
		{"carriage return", `8.8.8.8 - - ` + stamp + request + "\r", "8.8.8.8", day},
		{"nothing after the time", `8.8.8.8 - - ` + stamp, "8.8.8.8", day},
		{"empty request", `8.8.8.8 - - ` + stamp + ` "-" 408 -`, "8.8.8.8", day},
		{"request of nothing", `8.8.8.8 - - ` + stamp + ` "" 400 0 "-" "-"`, "8.8.8.8", day},
		{"request of bytes", `8.8.8.8 - - ` + stamp + " \"\x16\x03\x00\xff[\" 400 0", "8.8.8.8", day},
		{"tabs", "8.8.8.8\t-\t-\t" + stamp + "\t\"GET /\"", "8.8.8.8", day},
		{"without its dashes", `8.8.8.8 ` + stamp + request, "8.8.8.8", day},
		{"without one dash", `8.8.8.8 - ` + stamp + request, "8.8.8.8", day},
		{"field between time and request", `8.8.8.8 - - ` + stamp + ` www.example.org "GET /"`, "8.8.8.8", day},

		{"an object with a line", `{"host":"10.0.0.1","_raw":"8.8.4.4 - - ` + stamp + ` \"GET / HTTP/1.1\" 404 5"}`, "", ""},
		{"an object in an array", ` [{"line": "8.8.4.4 - - ` + stamp + ` \"GET / HTTP/1.1\" 404 5"}]`, "", ""},
		{"an object behind a text", `web: {"line":"8.8.4.4 - - ` + stamp + ` \"GET / HTTP/1.1\" 404 5"}`, "", ""},
		{"user like an object", `8.8.8.8 - {"a":1} ` + stamp + request, "8.8.8.8", day},

		{"IPv6", `2600::1 - - ` + stamp + request, "2600::1", day},
		{"IPv6 in brackets", `[2600::1] - - ` + stamp + request, "2600::1", day},
		{"IPv6 with port", `[2600::1]:443 - - ` + stamp + request, "2600::1", day},
		{"IPv6 with zone", `fe80::1%eth0 - - ` + stamp + request, "fe80::1", day},
		{"IPv4 in IPv6", `::ffff:8.8.8.8 - - ` + stamp + request, "8.8.8.8", day},
		{"IPv4 with port", `8.8.8.8:5678 - - ` + stamp + request, "8.8.8.8", day},

		{"list", `10.0.0.2, 10.0.0.1, 85.181.35.98 - - ` + stamp + request, "85.181.35.98", day},
		{"list without blanks", `10.0.0.2,85.181.35.98 - - ` + stamp + request, "85.181.35.98", day},
		{"list, two public", `85.181.35.98, 8.8.8.8 - - ` + stamp + request, "85.181.35.98", day},
		{"list, none public", `10.0.0.2, 127.0.0.1 - - ` + stamp + request, "10.0.0.2", day},
		{"list with unknown", `unknown, 8.8.8.8 - - ` + stamp + request, "8.8.8.8", day},
		{"list and proxy", `2a03:0:10ff::8000, 10.225.192.17 10.2.2.121 - - ` + stamp + request, "2a03:0:10ff::8000", day},
		{"quoted list and proxy", `"10.5.102.222, 199.96.1.1, 204.246.1.1" 10.2.1.185 - - ` + stamp + request, "199.96.1.1", day},
		{"quoted list of IPv6", `"[2600::1]:80, 10.0.0.1" - - ` + stamp + request, "2600::1", day},
		{"quoted", `"8.8.8.8" - - ` + stamp + request, "8.8.8.8", day},
		{"stray quote before", `"8.8.8.8 - - ` + stamp + request, "8.8.8.8", day},
		{"stray quote after", `8.8.8.8" - - ` + stamp + request, "8.8.8.8", day},

		{"host name", `client.example.net - - ` + stamp + request, "", day},
		{"host name that is not ASCII", `bücher.example - - ` + stamp + request, "", day},
		{"dash", `- - - ` + stamp + request, "", day},
		{"dash before the address", `- 8.8.8.8 - - ` + stamp + request, "8.8.8.8", day},
		{"line of a virtual host", `www.example.org 8.8.8.8 - - ` + stamp + request, "8.8.8.8", day},
		{"prefix of a log shipper", `Feb 25 16:19:38 192.168.4.2 nginx[1]: 8.8.8.8 - - ` + stamp + request, "8.8.8.8", day},
		{"octal octet is no address", `8.8.8.08 - - ` + stamp + request, "", day},
		{"octet too large", `8.8.8.256 - - ` + stamp + request, "", day},
		{"byte order mark", "\ufeff8.8.8.8 - - " + stamp + request, "8.8.8.8", day},
		{"hole of copytruncate", "\x00\x00\x008.8.8.8 - - " + stamp + request, "8.8.8.8", day},

		{"user name like an address", `10.0.0.9 - 8.8.8.8 ` + stamp + request, "10.0.0.9", day},
		{"user name like a time", `8.8.8.8 - [01/Jan/1999:00:00:00 +0000] ` + stamp + request, "8.8.8.8", day},
		{"user name like a line", `8.8.8.8 - - [01/Jan/1999:00:00:00 +0000] x ` + stamp + request, "8.8.8.8", day},
		{"user name with a bracket", `8.8.8.8 - [x ` + stamp + request, "8.8.8.8", day},
		{"request like a time", `8.8.8.8 - - ` + stamp + ` "GET [01/Jan/1999:00:00:00 +0000]"`, "8.8.8.8", day},

		{"leap day", `8.8.8.8 - - [29/Feb/2024:00:00:00 +0000]` + request, "8.8.8.8", "2024-02-29"},
		{"leap second", `8.8.8.8 - - [31/Dec/2016:23:59:60 +0000]` + request, "8.8.8.8", "2016-12-31"},
	})
}

func TestCombinedRefusesWhatIsNoLine(t *testing.T) {
	t.Parallel()
	checkLines(t, "combined", []lineCase{
		{name: "blank", line: ""},
		{name: "blanks", line: " \t\r"},
		{name: "time alone", line: stamp},
		{name: "no address, no request", line: `worker 3 started ` + stamp + ` in 5 ms`},
		{name: "no address, too few fields", line: `owner bucket ` + stamp + ` "x"`},
		{name: "S3 line", line: `79a59df900b9 bucket ` + stamp + ` 192.0.2.3 79a59df900b9 3E57 REST.GET`},
		{name: "no 31st of February", line: `8.8.8.8 - - [31/Feb/2024:13:55:36 +0000]` + request},
		{name: "no leap year", line: `8.8.8.8 - - [29/Feb/2023:13:55:36 +0000]` + request},
		{name: "no such month", line: `8.8.8.8 - - [99/Foo/2024:13:55:36 +0000]` + request},
		{name: "day zero", line: `8.8.8.8 - - [00/Oct/2024:13:55:36 +0000]` + request},
		{name: "hour 24", line: `8.8.8.8 - - [10/Oct/2000:24:55:36 -0700]` + request},
		{name: "minute 60", line: `8.8.8.8 - - [10/Oct/2000:13:60:36 -0700]` + request},
		{name: "second 61", line: `8.8.8.8 - - [10/Oct/2000:13:55:61 -0700]` + request},
		{name: "second of letters", line: `8.8.8.8 - - [10/Oct/2000:13:55:xx -0700]` + request},
		{name: "no offset", line: `8.8.8.8 - - [10/Oct/2000:13:55:36]` + request},
		{name: "offset without sign", line: `8.8.8.8 - - [10/Oct/2000:13:55:36 00700]` + request},
		{name: "offset of letters", line: `8.8.8.8 - - [10/Oct/2000:13:55:36 +07xx]` + request},
		{name: "time cut off", line: `8.8.8.8 - - [10/Oct/2000:13:55:36 -07`},
		{name: "bytes of zero", line: "8.8.8.8 - - [\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0000\x00\x00\x00\x00\x00\x00\x00" + request},
		{name: "quote inside the time", line: `8.8.8.8 - - ["0/Oct/2000:13:55:36 -0700]`},
		{name: "Apache error log", line: `[Thu Oct 13 12:24:49.880562 2022] [auth_basic:error] [client 31.33.58.75:50229] AH01618: user`},
		{name: "nginx error log", line: `2021/12/01 13:53:33 [error] 31#31: *46 "/x" failed, client: 172.17.0.1`},
		{name: "HAProxy", line: `Feb 25 16:19:49 192.168.4.2 haproxy[7]: 141.35.244.171:53332 [25/Feb/2019:16:19:48.143] http~ x`},
		{name: "JSON", line: `{"level":"info","ts":1693840791.75,"request":{"remote_ip":"172.17.0.1"}}`},
		{name: "minimal", line: `8.8.8.8 2024-02-29 GET /`},
	})
}

func TestVhostTakesTheFieldAfterTheHost(t *testing.T) {
	t.Parallel()
	const day = "2000-10-10"
	checkLines(t, "vhost", []lineCase{
		{"host and port", `www.example.org:443 8.8.8.8 - - ` + stamp + request, "8.8.8.8", day},
		{"host", `www.example.org 8.8.8.8 - - ` + stamp + request, "8.8.8.8", day},
		{"host is an address", `1.1.1.1 8.8.8.8 - - ` + stamp + request, "8.8.8.8", day},
		{"host is an address with port", `1.1.1.1:80 8.8.8.8 - frank ` + stamp + request, "8.8.8.8", day},
		{"host is IPv6 with port", `[2600::1]:80 2600::2 - - ` + stamp + request, "2600::2", day},
		{"host is an address, client a name", `1.1.1.1:80 client.example.net - - ` + stamp + request, "", day},
		{"host, then list", `www.example.org "10.0.0.1, 8.8.8.8" - - ` + stamp + request, "8.8.8.8", day},
		{"tabs", "1.1.1.1\t8.8.8.8\t-\t-\t" + stamp + request, "8.8.8.8", day},
		{"tab after the host", "1.1.1.1\t8.8.8.8 - - " + stamp + request, "8.8.8.8", day},
		{"no host", `8.8.8.8 - - ` + stamp + request, "8.8.8.8", day},
		{"list without host", `10.0.0.2, 8.8.8.8, 9.9.9.9 - - ` + stamp + request, "8.8.8.8", day},
		{"without one dash", `www.example.org 8.8.8.8 - ` + stamp + request, "8.8.8.8", day},
		{"no date", `www.example.org 8.8.8.8 - - [99/Foo/2000:13:55:36 -0700]` + request, "", ""},
		{"blank", ``, "", ""},
	})
}

func TestZoneMovesTheDay(t *testing.T) {
	t.Parallel()
	cases := []struct{ name, zone, format, line, day string }{
		{"later day", "UTC", "combined", `8.8.8.8 - - [10/Oct/2000:17:00:00 -0700]` + request, "2000-10-11"},
		{"same day", "UTC", "combined", `8.8.8.8 - - [10/Oct/2000:16:59:59 -0700]` + request, "2000-10-10"},
		{"earlier day", "America/New_York", "combined", `8.8.8.8 - - [10/Oct/2000:03:59:59 +0000]` + request, "2000-10-09"},
		{"summer time", "Europe/Berlin", "combined", `8.8.8.8 - - [10/Jul/2000:22:00:00 +0000]` + request, "2000-07-11"},
		{"the day that Samoa skipped", "Pacific/Apia", "combined", `8.8.8.8 - - [30/Dec/2011:10:00:00 +0000]` + request, "2011-12-31"},
		{"minimal with offset", "UTC", "minimal", `8.8.8.8 2000-10-10T23:30:00-01:00`, "2000-10-11"},
		{"minimal with Z", "Asia/Tokyo", "minimal", `8.8.8.8 2000-10-10T15:00Z`, "2000-10-11"},
		{"minimal without offset", "Asia/Tokyo", "minimal", `8.8.8.8 2000-10-10T15:00:00`, "2000-10-10"},
		{"minimal without time", "Asia/Tokyo", "minimal", `8.8.8.8 2000-10-10`, "2000-10-10"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(c.zone)
			if err != nil {
				t.Fatal(err)
			}
			record, verdict := parser(t, c.format, zone).Parse([]byte(c.line))
			if verdict != accesslog.Parsed || record.Day.String() != c.day {
				t.Errorf("got %s (verdict %d), want %s", record.Day, verdict, c.day)
			}
		})
	}
}

// A year of five digits, or before 0000, is none that a report reads.
func TestLineOnADayThatCanNotBeWrittenIsUnparsable(t *testing.T) {
	t.Parallel()
	cases := []struct {
		format, header string
		line           string // with %s for the date
		stamp          bool
	}{
		{"combined", "", `8.8.8.8 - - [%s:23:59:00 +0000]` + request, true},
		{"minimal", "", `8.8.8.8 %sT23:59:00Z`, false},
		{"w3c", "#Fields: date time c-ip", `%s 23:59:00 8.8.8.8`, false},
		{"envoy", "", `[%sT23:59:00.123Z] "GET / HTTP/1.1" 418 - via_upstream - "-" 0 135 3 1 "8.8.8.8" "curl/8.5" "c2b1b2b5" "www.example.org" "10.0.0.9:8080"`, false},
	}
	for _, c := range cases {
		for _, days := range []struct {
			zone        int // in hours
			date, known string
			want        string // the day of known in the zone
		}{
			{9, "9999-12-31", "9999-12-30", "9999-12-31"},
			{-24, "0000-01-01", "0000-01-02", "0000-01-01"},
		} {
			t.Run(c.format+" "+days.date, func(t *testing.T) {
				t.Parallel()
				p := parser(t, c.format, time.FixedZone("", days.zone*60*60))
				if c.header != "" {
					p.Parse([]byte(c.header))
				}
				for _, date := range []string{days.known, days.date, days.known, days.date, days.date, days.known} { // what it remembers changes nothing
					text := date
					if c.stamp {
						day, err := accesslog.ParseDay(date)
						if err != nil {
							t.Fatal(err)
						}
						text = time.Unix(int64(day)*24*60*60, 0).UTC().Format("02/Jan/2006")
					}
					record, verdict := p.Parse([]byte(strings.Replace(c.line, "%s", text, 1)))
					if date == days.date && verdict != accesslog.Unparsable {
						t.Errorf("%s is on %s (verdict %d), want unparsable", date, record.Day, verdict)
					}
					if date == days.known && (verdict != accesslog.Parsed || record.Day.String() != days.want) {
						t.Errorf("%s is on %s (verdict %d), want %s", date, record.Day, verdict, days.want)
					}
				}
			})
		}
	}
}

// In Newfoundland clocks were set back at one minute past midnight, so that a
// day began twice with an hour of the day before it in between.
func TestZoneIsRememberedNoLongerThanAMinute(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/St_Johns")
	if err != nil {
		t.Fatal(err)
	}
	p := parser(t, "combined", zone)
	for at := time.Date(2009, 11, 1, 2, 0, 0, 0, time.UTC); at.Hour() < 5; at = at.Add(20 * time.Second) {
		line := `8.8.8.8 - - ` + at.Format("[02/Jan/2006:15:04:05 -0700]") + request
		record, _ := p.Parse([]byte(line))
		if want := at.In(zone).Format(time.DateOnly); record.Day.String() != want {
			t.Fatalf("%s is %s in Newfoundland, got %s", at, want, record.Day)
		}
	}
}

func TestMinimalFindsAddressAndDay(t *testing.T) {
	t.Parallel()
	const day = "2024-02-29"
	checkLines(t, "minimal", []lineCase{
		{"usual", `8.8.8.8 2024-02-29 GET /`, "8.8.8.8", day},
		{"nothing after the day", `8.8.8.8 2024-02-29`, "8.8.8.8", day},
		{"carriage return", "8.8.8.8 2024-02-29\r", "8.8.8.8", day},
		{"tabs", "8.8.8.8\t2024-02-29\tx", "8.8.8.8", day},
		{"many blanks", "  8.8.8.8 \t 2024-02-29", "8.8.8.8", day},
		{"time", `8.8.8.8 2024-02-29T23:59:60.5+0200 x`, "8.8.8.8", day},
		{"IPv6", `2600::1 2024-02-29`, "2600::1", day},
		{"list", `10.0.0.1, unknown, 8.8.8.8 2024-02-29`, "8.8.8.8", day},
		{"quoted list", `"10.0.0.1, 8.8.8.8" 2024-02-29`, "8.8.8.8", day},
		{"port", `8.8.8.8:80 2024-02-29`, "8.8.8.8", day},
		{"dash", `- 2024-02-29 x`, "", day},
		{"host name", `server 2024-02-29 started`, "", ""},
		{"no blank between", `8.8.8.8"2024-02-29`, "", ""},
		{"no such day", `8.8.8.8 2024-02-30`, "", ""},
		{"longer day", `8.8.8.8 2024-02-299`, "", ""},
		{"no day", `8.8.8.8`, "", ""},
		{"list without day", `8.8.8.8, `, "", ""},
		{"no such time", `8.8.8.8 2024-02-29T24:00:00`, "", ""},
		{"time cut off", `8.8.8.8 2024-02-29T23:5`, "", ""},
		{"no fraction", `8.8.8.8 2024-02-29T23:59:59.Z`, "", ""},
		{"no offset", `8.8.8.8 2024-02-29T23:59:59+0`, "", ""},
		{"blank", ``, "", ""},
		{"common", `8.8.8.8 - - ` + stamp + request, "", ""},
	})
}

func TestParseAllocatesNothing(t *testing.T) {
	for format, line := range map[string]string{
		"combined": `"10.0.0.1, 2600::1%eth0, unknown" client.example.net - frank ` + stamp + request,
		"vhost":    `www.example.org:443 8.8.8.8 - - ` + stamp + request,
		"minimal":  `[2600::1]:80 2024-02-29T10:00:00Z`,

		"nginx-json":        `{"time_local":"20\/Nov\/2026:14:00:05 +0000","remote_addr":"8.8.8.8","status":200}`,
		"azure":             `{"time":"2017-04-26T19:27:38Z","category":"applicationgatewayaccesslog","properties":{"clientIP":"8.8.8.8"}}`,
		"syslog:nginx-json": `<190>Nov 20 14:00:05.123456 nginx: {"time_iso8601":"2026-11-20T14:00:05Z","remote_addr":"8.8.8.8","status":200}`,
	} {
		p, b := parser(t, format, time.UTC), []byte(line)
		if n := testing.AllocsPerRun(100, func() { p.Parse(b) }); n != 0 {
			t.Errorf("%s: %v allocations a line", format, n)
		}
	}
}

func TestIsPublic(t *testing.T) {
	t.Parallel()
	cases := map[string]bool{
		"8.8.8.8": true, "100.63.255.255": true, "100.128.0.0": true, "172.32.0.1": true, "192.88.99.1": true,
		"223.255.255.255": true, "2600::1": true, "2001:4860:4860::8888": true, "::ffff:8.8.8.8": true, "2002:808:808::1": true,
		"0.0.0.0": false, "10.1.2.3": false, "100.64.0.1": false, "127.0.0.1": false, "169.254.1.1": false,
		"172.16.0.1": false, "192.0.0.8": false, "192.0.2.1": false, "192.168.1.1": false, "198.18.0.1": false,
		"198.51.100.1": false, "203.0.113.1": false, "224.0.0.1": false, "255.255.255.255": false,
		"::": false, "::1": false, "::ffff:10.0.0.1": false, "fe80::1%eth0": false, "fd00::1": false, "ff02::1": false,
		"2001:db8::1": false, "2001::1": false, "3fff::1": false, "100::1": false, "5f00::1": false,
	}
	for addr, want := range cases {
		if got := accesslog.IsPublic(netip.MustParseAddr(addr)); got != want {
			t.Errorf("IsPublic(%s) = %v", addr, got)
		}
	}
	if accesslog.IsPublic(netip.Addr{}) {
		t.Error("the zero address is public")
	}
}
