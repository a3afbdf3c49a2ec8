package accesslog_test

import (
	"strings"
	"testing"

	"skidway/distribute/accesslog"
)

func TestEmptyAddressIsNoAddress(t *testing.T) {
	t.Parallel()
	const stamp = ` [10/Oct/2025:13:55:36 +0000] 200`
	for _, c := range []struct{ format, line string }{
		{`"$remote_addr" [$time_local] $status`, `""` + stamp},
		{`"$remote_addr" [$time_local] $status`, `"-"` + stamp},
		{"nginx-json", `{"time_iso8601":"2025-10-10T13:55:36+02:00","remote_addr":"","status":200}`},
		{"envoy-json", `{"start_time":"2021-02-11T16:29:24.123Z","x_forwarded_for":"","downstream_remote_address":"8.8.8.8:42112","response_code":200}`},
		{"logfmt(address=ip,time=t)", `ip="" t=2025-10-10T13:55:36Z`},
	} {
		f, err := accesslog.ByName(c.format)
		if err != nil {
			t.Fatal(err)
		}
		if record, verdict := f.New(accesslog.Options{}).Parse([]byte(c.line)); verdict != accesslog.Parsed || record.Addr.IsValid() {
			t.Errorf("%s: %v, verdict %d: %s", c.format, record.Addr, verdict, c.line)
		}
		if strings.Contains(c.format, "$") || strings.Contains(c.format, "(") {
			continue
		}
		if found, err := accesslog.Detect([][]byte{[]byte(c.line)}); err != nil || found.Name() != c.format {
			t.Errorf("detected as %q, %v: %s", found.Name(), err, c.line)
		}
	}
}
