package formats

// w3c is the Extended Log File Format (W3C working draft WD-logfile-960323), the
// default of IIS. Its times are UTC.
var w3c = Format{
	Name:          "w3c",
	Aliases:       []string{"iis-w3c"},
	Description:   "W3C Extended Log File Format with #Fields: IIS, others",
	Specification: "https://www.w3.org/TR/WD-logfile.html",
	Kind:          Columns,
	UTC:           true,
	Fields:        w3cColumns,
	Example: "#Fields: date time s-ip cs-method cs-uri-stem c-ip sc-status\n" +
		"2015-01-13 00:32:17 192.0.2.1 GET /robots.txt 203.0.113.7 404",
	Reads: "2015-01-13T00:32:17Z 404 method=GET path=/robots.txt",
	Real: []Line{
		{
			Origin:  "tstack/lnav, IIS 4 without dates",
			Address: "1.1.1.1", Time: "2000-10-10T02:10:12Z", Status: "331",
			Text: "#Date: 2000-10-09 16:44:49\n" +
				"#Fields: time c-ip cs-method cs-uri-stem sc-status\n" +
				"16:44:49 1.1.1.1 [2]USER anonymous 331\n" +
				"16:48:05 1.1.1.1 [2]QUIT - 226\n" +
				"02:10:12 1.1.1.1 [4]USER anonymous 331",
		},
		{
			Origin:  "tstack/lnav, IIS 8.5",
			Address: "157.55.39.146", Time: "2015-01-13T00:32:17Z", Status: "404",
			Text: "#Software: Microsoft Internet Information Services 8.5\n" +
				"#Version: 1.0\n" +
				"#Date: 2015-01-13 00:32:17\n" +
				"#Fields: date time s-ip cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) sc-status sc-substatus sc-win32-status sc-bytes cs-bytes time-taken\n" +
				"2015-01-13 00:32:17 100.79.192.81 GET /robots.txt - 80 - 157.55.39.146 ÄÖMozilla/5.0+(compatible;+bingbot/2.0) - 404 0 2 1405 242 283",
		},
		{
			Origin:  "tstack/lnav, IIS Advanced Logging",
			Address: "173.5.0.0", Time: "2012-08-15T17:00:00", Status: "404",
			Text: "#Fields:   date-local time-local   s-ip   cs-method cs-uri-stem cs-uri-query s-port cs-username c-ip cs(User-Agent) cs(Referer) cs(Host) sc-status\n" +
				`2012-08-15 17:00:00.675 10.10.28.140 GET /hello/world/6,681965 - 80 - "173.5.0.0" "Mozilla/5.0 (Macintosh; ""quoted"")" - "hello.example.com" 404`,
		},
		{
			Origin:  "tstack/lnav, Incapsula",
			Address: "123.123.123.123", Time: "2017-06-28T07:26:35Z", Status: "200",
			Text: "#Date: 28/Jun/2017 07:28:59\n" +
				"#Fields: date time cs-vid cs-clapp c-ip sc-status\n" +
				`"2017-06-28" "07:26:35" "a1f36498" "Chrome" "123.123.123.123" "200"`,
		},
		{
			Origin:  "tstack/lnav, Oracle Web Cache",
			Address: "64.103.37.2", Time: "2001-10-31T00:00:18Z", Status: "200",
			Text: "#Version: 1.0\n" +
				"#GMT-Offset: -0800\n" +
				"#Software: Oracle9iAS Web Cache/2.0.0.2.0\n" +
				"#Start-Date: 2001-10-31 00:00:18\n" +
				"#Fields:  c-ip  c-dns  c-auth-id  date  time  cs-method  cs-uri  sc-status\n" +
				"#Date: 2001-10-31 00:00:18\n" +
				"64.103.37.2      client_joaz7      DMS.user      2001-10-31     00:00:18      GET      /admin/images/oc_bottomleft.gif    200",
		},
	},
}

// w3cColumns are the columns of the Extended Log File Format, and the names of IIS and of
// CloudFront, whose timestamps are seconds or milliseconds since 1970, that are read.
const w3cColumns = `
		address  c-ip
		date     date date-local
		clock    time time-local
		time     timestamp timestamp(ms)
		status   sc-status
		method   cs-method
		path     cs-uri cs-uri-stem
		host     x-host-header cs(Host) cs-host
		referrer cs(Referer) cs(Referrer)
		agent    cs(User-Agent)
		user     cs-username
		bytes    sc-bytes
		duration time-taken
		protocol cs-version cs-protocol-version
		country  c-country`
