package accesslog_test

import (
	"slices"
	"strings"
	"testing"

	"skidway/distribute/accesslog"
	"skidway/distribute/accesslog/formats"
)

// azureFirewallLines are of Microsoft's documentation of Application Gateway and Front Door, without the
// fields that name the account. The address of the second one is left out there.
var azureFirewallLines = []string{
	`{"operationName":"ApplicationGatewayFirewall","time":"2017-03-20T15:52:09.1494499Z","category":"ApplicationGatewayFirewallLog","properties":{"instanceId":"ApplicationGatewayRole_IN_0","clientIp":"104.210.252.3","clientPort":"4835","requestUri":"/?a=%3Cscript%3Ealert(%22Hello%22);%3C/script%3E","ruleSetType":"OWASP","ruleSetVersion":"3.0","ruleId":"941320","message":"Possible XSS Attack Detected - HTML Tag Handler","action":"Blocked","site":"Global"}}`,
	`{"time":"2020-06-09T22:32:17.8376810Z","category":"FrontdoorWebApplicationFirewallLog","operationName":"Microsoft.Network/FrontDoorWebApplicationFirewallLog/Write","properties":{"clientIP":"192.0.2.9","clientPort":"52097","socketIP":"192.0.2.9","requestUri":"https://wafdemofrontdoorwebapp.azurefd.net:443/?q=%27%20or%201=1","ruleName":"Microsoft_DefaultRuleSet-1.1-SQLI-942100","policy":"WafDemoCustomPolicy","action":"Block","host":"wafdemofrontdoorwebapp.azurefd.net","policyMode":"prevention"}}`,
}

func TestFirewallLogsOfAzureAreNoRequests(t *testing.T) {
	t.Parallel()
	if format, err := accesslog.Detect(byteLines(azureFirewallLines)); err == nil {
		t.Errorf("detected %s", format.Name())
	}
	azure := formats.All[slices.IndexFunc(formats.All[:], func(f formats.Format) bool { return f.Name == "azure" })]
	access := azure.Real[0].Text
	for _, fields := range []accesslog.FieldSet{0, accesslog.Fields(accesslog.Status)} {
		lines := slices.Concat([]string{access, strings.Replace(access, `"category":"FrontdoorAccessLog",`, "", 1),
			strings.Replace(access, "FrontdoorAccessLog", "FRONTDOORACCESSLOG", 1), azure.Real[1].Text}, azureFirewallLines)
		choice, err := accesslog.Choose(byteLines(lines))
		if err != nil || choice.Format.Name() != "azure" {
			t.Fatalf("%s, %v", choice.Format.Name(), err)
		}
		got, p := "", choice.NewAuto(accesslog.Options{Fields: fields})
		for _, line := range slices.Concat(lines, lines, lines) { // also by the shape of lines before
			if _, verdict := p.Parse([]byte(line)); verdict == accesslog.Parsed {
				got += "+"
			} else {
				got += "-"
			}
		}
		if want := strings.Repeat("++++--", 3); got != want {
			t.Errorf("fields %d: %s, want %s", fields, got, want)
		}
	}
}

// Envoy writes - where the request has no X-Forwarded-For.
func TestKeyWithoutAnAddressHidesNoOtherAddress(t *testing.T) {
	t.Parallel()
	f, err := accesslog.ByName("envoy-json")
	if err != nil {
		t.Fatal(err)
	}
	const start = `{"start_time":"2021-02-11T16:29:24.123Z",`
	for _, fields := range []accesslog.FieldSet{0, accesslog.Fields(accesslog.Status)} {
		p := f.New(accesslog.Options{Fields: fields})
		for range 8 { // also by the shape of lines before
			for keys, want := range map[string]string{
				`"x_forwarded_for":"-","downstream_remote_address":"8.8.8.8:42112"}`:       "8.8.8.8",
				`"x_forwarded_for":"","downstream_remote_address":"8.8.8.8:42112"}`:        "8.8.8.8",
				`"downstream_remote_address":"8.8.8.8:42112","x_forwarded_for":"-"}`:       "8.8.8.8",
				`"x_forwarded_for":"1.1.1.1","downstream_remote_address":"8.8.8.8:42112"}`: "1.1.1.1",
				`"x_forwarded_for":"-","downstream_remote_address":null}`:                  "-",
				`"x_forwarded_for":null,"downstream_remote_address":"-"}`:                  "-",
				`"x_forwarded_for":"-"}`: "-",
			} {
				record, verdict := p.Parse([]byte(start + keys))
				if got := addrText(record.Addr); verdict != accesslog.Parsed || got != want {
					t.Errorf("%d, %s, want %s: %s", verdict, got, want, keys)
				}
			}
		}
	}
}

// lua-cjson and PHP write a slash with a backslash before it.
func TestTimesWithEscapedSlashesAreRead(t *testing.T) {
	t.Parallel()
	line := []byte(`{"time_local":"20\/Nov\/2026:14:00:05 +0000","remote_addr":"8.8.8.8","status":200}`)
	f, err := accesslog.Detect([][]byte{line})
	if err != nil || f.Name() != "nginx-json" {
		t.Fatalf("detected %q, %v", f.Name(), err)
	}
	p := f.New(accesslog.Options{})
	for range 3 { // also by the shape of lines before
		record, verdict := p.Parse(line)
		if verdict != accesslog.Parsed || record.Day.String() != "2026-11-20" || addrText(record.Addr) != "8.8.8.8" {
			t.Errorf("verdict %d, %v", verdict, record)
		}
	}
}
