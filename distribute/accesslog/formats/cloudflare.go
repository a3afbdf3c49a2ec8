package formats

var cloudflare = Format{
	Name:          "cloudflare",
	Description:   "Cloudflare Logpush of HTTP requests in JSON",
	Specification: "https://developers.cloudflare.com/logs/logpush/logpush-job/datasets/zone/http_requests/",
	Kind:          Objects,
	Fields: `
		address  ClientIP
		time     EdgeStartTimestamp
		ended    EdgeEndTimestamp
		country  ClientCountry
		status   EdgeResponseStatus
		method   ClientRequestMethod
		path     ClientRequestURI
		host     ClientRequestHost
		protocol ClientRequestProtocol
		referrer ClientRequestReferer
		agent    ClientRequestUserAgent
		bytes    EdgeResponseBytes`,
	Example: `{"ClientIP":"203.0.113.7","ClientRequestHost":"www.example.org","ClientRequestMethod":"GET","ClientRequestURI":"/","EdgeResponseBytes":23,"EdgeResponseStatus":200,"EdgeStartTimestamp":"2019-07-29T10:00:00Z"}`,
	Reads:   "2019-07-29T10:00:00Z 200 method=GET host=www.example.org path=/ 23 B",
	Real: []Line{
		{
			Origin:  "elastic/integrations, Cloudflare Logpush",
			Address: "175.16.199.0", Time: "2022-05-25T13:25:26Z", Status: "200",
			Text: `{"CacheCacheStatus":"dynamic","CacheResponseBytes":983828,"CacheResponseStatus":200,"CacheTieredFill":false,"ClientASN":43766,"ClientCountry":"sa","ClientDeviceType":"desktop","ClientIP":"175.16.199.0","ClientIPClass":"noRecord","ClientRequestBytes":5800,"ClientRequestHost":"xyz.example.com","ClientRequestMethod":"POST","ClientRequestPath":"/xyz/checkout","ClientRequestProtocol":"HTTP/1.1","ClientRequestScheme":"https","ClientRequestURI":"/s/example/api/telemetry/v2/clusters/_stats","ClientRequestUserAgent":"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_10_5) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/51.0.2704.103 Safari/537.36","ClientSrcPort":0,"Cookies":{"key":"value"},"EdgeEndTimestamp":"2022-05-25T13:25:32Z","EdgeResponseBytes":981308,"EdgeResponseStatus":200,"EdgeServerIP":"1.128.0.0","EdgeStartTimestamp":"2022-05-25T13:25:26Z","OriginIP":"67.43.156.0"}`,
		},
	},
}
