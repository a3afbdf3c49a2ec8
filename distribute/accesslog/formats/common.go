package formats

// common is the Common Log Format: %h %l %u %t "%r" %>s %b in the notation of
// Apache's mod_log_config. What its parser reads and no format above it in the
// table claims is common.
var common = Format{
	Name:          "common",
	Description:   "Common Log Format: Apache's common, others' CLF",
	Specification: "https://httpd.apache.org/docs/2.4/mod/mod_log_config.html",
	Kind:          CommonLog,
	Layouts: []string{
		CommonLayout,
	},
	Example: `203.0.113.7 - frank [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 2326`,
	Reads:   "2000-10-10T13:55:36-07:00 200 method=GET path=/ protocol=HTTP/1.1 user=frank 2326 B",
	Real: []Line{
		{
			Origin:  "elastic/integrations, Apache, common",
			Address: "::1", Time: "2016-12-26T16:16:29+02:00", Status: "404",
			Text: "::1 - - [26/Dec/2016:16:16:48 +0200] \"-\" 408 -\n" +
				`::1 - - [26/Dec/2016:16:16:29 +0200] "GET /favicon.ico HTTP/1.1" 404 209`,
		},
	},
}

// CommonLayout is the layout of the Common Log Format.
const CommonLayout = `$remote_addr $ident $remote_user [$time_local] "$request" $status $body_bytes_sent`
