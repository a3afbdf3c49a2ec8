package formats

// vhost is the Combined Log Format after the requested host, with or
// without its port: Debian's vhost_combined. Referer and user agent may be
// missing (Apache's "common with virtual host").
var vhost = Format{
	Name:          "vhost",
	Aliases:       []string{"vhost-combined"},
	Description:   "virtual host, then combined or common",
	Specification: "https://httpd.apache.org/docs/2.4/mod/mod_log_config.html",
	Kind:          CommonLog,
	Layouts: []string{
		"$host " + CombinedLayout,
		"$host " + CommonLayout,
	},
	Example: `www.example.org:443 203.0.113.7 - - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 2326 "-" "Mozilla/5.0"`,
	Reads:   "2000-10-10T13:55:36-07:00 200 method=GET host=www.example.org:443 path=/ protocol=HTTP/1.1 agent=Mozilla/5.0 2326 B",
	Real: []Line{
		{
			Origin:  "elastic/integrations, Apache, virtual host",
			Address: "192.168.33.2", Time: "2016-12-26T16:22:14Z", Status: "404",
			Text: `vhost1.domaine.fr 192.168.33.2 - - [26/Dec/2016:16:22:14 +0000] "GET /hello HTTP/1.1" 404 499 "-" "Mozilla/5.0 (Macintosh; Intel Mac OS X 10.12; rv:50.0) Gecko/20100101 Firefox/50.0"`,
		},
	},
}
