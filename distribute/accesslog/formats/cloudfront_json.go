package formats

import "time"

var cloudfrontJSON = Format{
	Name:          "cloudfront-json",
	Description:   "Amazon CloudFront, standard logs in JSON",
	Specification: "https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html",
	Kind:          Objects,
	Unit:          time.Second,
	UTC:           true,
	Fields: `
		address  c-ip
		date     date
		clock    time
		time     timestamp timestamp(ms)
		status   sc-status
		method   cs-method
		host     x-host-header cs(Host)
		path     cs-uri-stem
		agent    cs(User-Agent)
		bytes    sc-bytes
		country  c-country
		duration time-taken
		protocol cs-protocol-version
		referrer cs(Referer)`,
	Example: `{"date":"2024-11-14","time":"21:02:31","x-edge-location":"LAX1","c-ip":"203.0.113.7","cs-method":"GET","cs-uri-stem":"/index.html","sc-status":"200"}`,
	Reads:   "2024-11-14T21:02:31Z 200 method=GET path=/index.html",
	Real: []Line{
		{
			Origin:  "tests of a CloudFront analyser, post-tenebras-lire.net",
			Address: "8.29.198.27", Time: "2026-04-04T12:57:53Z", Status: "304",
			Text: `{"date":"2026-04-04","time":"12:57:53","x-edge-location":"SFO53-P7","sc-bytes":"1068","c-ip":"8.29.198.27","cs-method":"GET","cs(Host)":"d3bkd4xdlxgkfz.cloudfront.net","cs-uri-stem":"/feed.xml","sc-status":"304","cs(Referer)":"-","cs(User-Agent)":"Feedly/1.0","cs-uri-query":"-","cs(Cookie)":"-","x-edge-result-type":"Hit","x-host-header":"post-tenebras-lire.net","cs-protocol":"https","cs-bytes":"336","time-taken":"0.001","x-forwarded-for":"-","cs-protocol-version":"HTTP/1.1","c-port":"19103","time-to-first-byte":"0.001","c-country":"US"}`,
		},
	},
}
