package formats

// combined is the Common Log Format with referer and user agent, both quoted.
// It is nginx's default under that same name; the "main" format that nginx
// packages configure adds the X-Forwarded-For header, which is not the client
// address of the format and is not read. Varnish writes it too, with the whole URL in the request.
var combined = Format{
	Name:          "combined",
	Aliases:       []string{"nginx"},
	Description:   "Combined: Apache's combined, nginx's default and main",
	Specification: "https://httpd.apache.org/docs/2.4/mod/mod_log_config.html",
	Kind:          CommonLog,
	Layouts: []string{
		CombinedLayout,
	},
	Example: `203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 2326 "-" "Mozilla/5.0"`,
	Reads:   "2000-10-10T13:55:36-07:00 200 method=GET path=/ protocol=HTTP/1.1 agent=Mozilla/5.0 2326 B",
	Real: []Line{
		{
			Origin:  "GoogleCloudPlatform/ops-agent, Varnish",
			Address: "127.0.0.1", Time: "2022-03-02T15:55:05Z", Status: "404",
			Text: `127.0.0.1 - - [02/Mar/2022:15:55:05 +0000] "GET http://localhost:8080/test HTTP/1.1" 404 273 "-" "curl/7.64.0"`,
		},
		{
			Origin:  "elastic/integrations, Apache",
			Address: "89.160.20.112", Time: "2017-05-29T19:02:48Z", Status: "200",
			Text: "192.168.33.1 - - [26/Dec/2016:16:22:13 +0000] \"GET /hello HTTP/1.1\" 404 499 \"-\" \"Mozilla/5.0 (Macintosh; Intel Mac OS X 10.12; rv:50.0) Gecko/20100101 Firefox/50.0\"\n" +
				"172.17.0.1 - - [29/May/2017:19:02:48 +0000] \"GET /stringpatch HTTP/1.1\" 404 612 \"-\" \"Mozilla/5.0 (Windows NT 6.1; rv:15.0) Gecko/20120716 Firefox/15.0a2\" \"-\"\n" +
				`89.160.20.112 - - [29/May/2017:19:02:48 +0000] "GET /A%20Beka%20G1%20Howe/029_AND_30/15%20reading%20elephants.mp4 HTTP/1.1" 200 612 "-" "Mozilla/5.0 (Windows NT 6.1; rv:15.0) Gecko/20120716 Firefox/15.0a2" X-Forwarded-For="10.0.0.2,10.0.0.1"`,
		},
	},
}

// CombinedLayout is the layout of the combined format.
const CombinedLayout = CommonLayout + ` "$http_referer" "$http_user_agent"`
