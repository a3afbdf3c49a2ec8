package formats

var lighttpd = Format{
	Name:          "lighttpd",
	Description:   "lighttpd: address, then the requested host",
	Specification: "https://doc.lighttpd.net/lighttpd2/mod_accesslog.html",
	Layouts: []string{
		`$remote_addr $host $remote_user [$time_local] "$request" $status $body_bytes_sent "$http_referer" "$http_user_agent"`,
	},
	Example: `203.0.113.7 www.example.org - [10/Oct/2000:13:55:36 -0700] "GET / HTTP/1.1" 200 23 "-" "curl/8.5"`,
	Reads:   "2000-10-10T13:55:36-07:00 200 method=GET host=www.example.org path=/ protocol=HTTP/1.1 agent=curl/8.5 23 B",
	Real: []Line{
		{
			Origin:  "arbakker/ahn3-wcs-invalid-geotiff-issue, lighttpd 1.4.53 in the image of PDOK's MapServer",
			Address: "172.17.0.1", Time: "2022-08-26T17:25:25+02:00", Status: "200",
			Text: `172.17.0.1 localhost - [26/Aug/2022:17:25:25 +0200] "GET /?SERVICE=WCS&VERSION=1.0.0&REQUEST=GetCoverage&FORMAT=GEOTIFF_FLOAT32&COVERAGE=ahn3_5m_dtm&BBOX=231520,580797,235720,584997&CRS=EPSG:28992&RESPONSE_CRS=EPSG:28992&WIDTH=1000&HEIGHT=1000 HTTP/1.1" 200 2697015 "-" "curl/7.81.0"`,
		},
	},
}
