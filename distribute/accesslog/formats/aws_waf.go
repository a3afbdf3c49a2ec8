package formats

var awsWAF = Format{
	Name:          "aws-waf",
	Description:   "AWS WAF in JSON",
	Specification: "https://docs.aws.amazon.com/waf/latest/developerguide/logging-fields.html",
	Kind:          Objects,
	Fields: `
		address  httpRequest.clientIp
		time     timestamp
		status   responseCodeSent
		method   httpRequest.httpMethod
		path     httpRequest.uri
		protocol httpRequest.httpVersion
		country  httpRequest.country`,
	Example: `{"timestamp":1576280412771,"formatVersion":1,"action":"ALLOW","httpRequest":{"clientIp":"203.0.113.7","country":"AU","uri":"/","httpVersion":"HTTP/1.1","httpMethod":"GET"}}`,
	Reads:   "2019-12-13T23:40:12Z - method=GET path=/ protocol=HTTP/1.1 country=AU",
	Real: []Line{
		{
			Origin:  "AWS documentation, WAF",
			Address: "1.1.1.1", Time: "2019-12-13T23:40:12Z", Status: "-",
			Text: `{"timestamp":1576280412771,"formatVersion":1,"webaclId":"arn:aws:wafv2:ap-southeast-2:111122223333:regional/webacl/STMTest/1EXAMPLE","terminatingRuleId":"STMTest_SQLi_XSS","action":"BLOCK","httpRequest":{"clientIp":"1.1.1.1","country":"AU","headers":[{"name":"Host","value":"localhost:1989"}],"uri":"/myUri","args":"","httpVersion":"HTTP/1.1","httpMethod":"GET","requestId":"rid"}}`,
		},
	},
}
