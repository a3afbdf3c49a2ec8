package formats

// cloudfront is the standard log of Amazon CloudFront, as it documents it: the
// Extended Log File Format with tabs. Times are UTC.
var cloudfront = Format{
	Name:          "cloudfront",
	Description:   "Amazon CloudFront, standard logs with their #Fields line",
	Specification: "https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/standard-logs-reference.html",
	Kind:          Columns,
	UTC:           true,
	Fields:        w3cColumns,
	Marker:        "x-edge-location",
	Example: "#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status\n" +
		"2019-12-04\t21:02:31\tLAX1\t392\t203.0.113.7\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200",
	Reads: "2019-12-04T21:02:31Z 200 method=GET host=d111111abcdef8.cloudfront.net path=/index.html 392 B",
	Real: []Line{
		{
			Origin:  "AWS documentation, CloudFront",
			Address: "192.0.2.100", Time: "2019-12-04T21:02:31Z", Status: "200",
			Text: "#Version: 1.0\n" +
				"#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie)\n" +
				"2019-12-04\t21:02:31\tLAX1\t392\t192.0.2.100\tGET\td111111abcdef8.cloudfront.net\t/index.html\t200\t-\tMozilla/5.0%20(Windows%20NT%2010.0)\t-\t-",
		},
		{
			Origin:  "QuinnyPig's gist of CloudFront logs, without x-forwarded-for",
			Address: "3.92.144.159", Time: "2020-12-10T02:42:28Z", Status: "200",
			Text: "#Version: 1.0\n" +
				"#Fields: date time x-edge-location sc-bytes c-ip cs-method cs(Host) cs-uri-stem sc-status cs(Referer) cs(User-Agent) cs-uri-query cs(Cookie) x-edge-result-type x-edge-request-id x-host-header cs-protocol cs-bytes time-taken ssl-protocol ssl-cipher x-edge-response-result-type cs-protocol-version fle-status fle-encrypted-fields c-port time-to-first-byte x-edge-detailed-result-type sc-content-type sc-content-len sc-range-start sc-range-end\n" +
				"2020-12-10\t02:42:28\tIAD89-C3\t335\t3.92.144.159\tHEAD\tdv5b3tnel772.cloudfront.net\t/rss/ecs-us-east-1.rss\t200\t-\tSlackbot%201.0%20(+https://api.slack.com/robots)\t-\t-\tMiss\t2kP01Cgw2cMXMKlogaJwkCt7MVHA8Flxtt_ncRESDd9POQpVWSM64w==\tstop.lying.cloud\thttps\t123\t0.338\tTLSv1.2\tECDHE-RSA-AES128-GCM-SHA256\tMiss\tHTTP/2.0\t-\t-\t61052\t0.000\tMiss\tapplication/rss+xml\t2039\t-\t-",
		},
	},
}
