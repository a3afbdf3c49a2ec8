package formats

import "time"

var cloudfrontRealTime = Format{
	Name:          "cloudfront-real-time",
	Description:   "Amazon CloudFront, real-time logs, tabs between fields",
	Specification: "https://docs.aws.amazon.com/AmazonCloudFront/latest/DeveloperGuide/real-time-logs.html",
	Unit:          time.Second,
	Layouts:       realTimeLayouts(),
	Example: "1594939200.123\t203.0.113.7\t192.0.2.1\t0.002\t200\t392\tGET\thttps\td111111abcdef8.cloudfront.net\t/index.html\t" +
		"23\tLAX1\tSOX4xwn4XV6Q4rgb7XiVGOHms_BGlTAC4KyHmureZmBNrjGdRLiNIQ==\twww.example.org\t0.004\tHTTP/2.0\tIPv4\tcurl/8.5\t-\t-",
	Reads: "2020-07-16T22:40:00Z 200 method=GET host=www.example.org path=/index.html protocol=HTTP/2.0 agent=curl/8.5 392 B 4ms",
	Real: []Line{
		{
			Origin:  "AWS documentation, CloudFront real-time",
			Address: "192.0.2.100", Time: "2019-11-15T17:46:40Z", Status: "200",
			Text: "1573840000.762\t192.0.2.100\t0.001\t200\t392\tGET\thttps\td111111abcdef8.cloudfront.net\t/index.html",
		},
	},
}

// realTimeLayouts returns the layouts of real-time logs with all fields, or with the first
// ones: with and without the address of the server, which came later, and for each scheme,
// by which the columns are known.
func realTimeLayouts() (texts []string) {
	for _, rest := range []string{
		"$request_uri\t$received_bytes\t$location\t$request_id\t$host\t$request_time\t$server_protocol\t$ip_version\t$http_user_agent\t$http_referer\t$rest",
		"$request_uri",
	} {
		for _, server := range []string{"\t$server_addr", ""} {
			for _, scheme := range []string{"https", "http", "wss", "ws"} {
				texts = append(texts, "$msec\t$remote_addr"+server+"\t$first_byte\t$status\t$bytes_sent\t$request_method\t"+
					scheme+"\t$distribution\t"+rest)
			}
		}
	}
	return texts
}
