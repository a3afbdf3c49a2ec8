package formats

// azure is what Front Door and Application Gateway write. Durations are whole milliseconds (Application
// Gateway v1), or seconds with a fraction.
var azure = Format{
	Name:          "azure",
	Description:   "Azure Front Door, Application Gateway: an object a line",
	Specification: "https://learn.microsoft.com/en-us/azure/frontdoor/monitor-front-door-reference",
	Kind:          Objects,
	Logger:        Logger{Key: "category", Suffix: "AccessLog"},
	Fields: `
		address  properties.clientIp properties.clientIP
		time     time timeStamp
		status   properties.httpStatusCode properties.httpStatus
		method   properties.httpMethod
		path     properties.requestUri
		host     properties.hostName properties.originalHost properties.host
		agent    properties.userAgent
		referrer properties.referer
		bytes    properties.responseBytes properties.sentBytes
		duration properties.timeTaken
		protocol properties.httpVersion`,
	Example: `{"time":"2021-06-09T19:22:55.0000000Z","category":"FrontDoorAccessLog","properties":{"clientIp":"203.0.113.7","httpMethod":"GET","httpStatusCode":"200","requestUri":"https://www.example.org/"}}`,
	Reads:   "2021-06-09T19:22:55Z 200 method=GET host=www.example.org path=https://www.example.org/",
	Real: []Line{
		{
			Origin:  "elastic/integrations, Azure Front Door",
			Address: "2400:ac40:60b:7aeb:418d:7c32:ac90:e100", Time: "2021-12-15T03:36:54Z", Status: "200",
			Text: `{"category":"FrontdoorAccessLog","operationName":"Microsoft.Network/FrontDoor/AccessLog/Write","properties":{"ErrorInfo":"NoError","backendHostname":"samplev6erp.azurewebsites.net:443","cacheStatus":"CONFIG_NOCACHE","clientIp":"2400:ac40:60b:7aeb:418d:7c32:ac90:e100","clientPort":"65238","httpMethod":"POST","httpStatusCode":"200","httpStatusDetails":"200","httpVersion":"2.0.0.0","isReceivedFromClient":true,"pop":"SGE","requestBytes":"3081","requestProtocol":"HTTPS","requestUri":"https://erp.testcloud.com:443/Dashboard/getTopStockList","responseBytes":"3191","routingRuleName":"erp","rulesEngineMatchNames":[],"securityProtocol":"TLS 1.2","socketIp":"2400:ac40:60b:7aeb:418d:7c32:ac90:e100","timeTaken":"3.603","timeToFirstByte":"3.603","userAgent":"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/96.0.4664.93 Safari/537.36"},"time":"2021-12-15T03:36:54.0059097Z"}`,
		},
		{
			Origin:  "Microsoft's documentation, Application Gateway v1",
			Address: "191.96.249.97", Time: "2017-04-26T19:27:38Z", Status: "404",
			Text: `{"resourceId":"/SUBSCRIPTIONS/{subscriptionId}/RESOURCEGROUPS/PEERINGTEST/PROVIDERS/MICROSOFT.NETWORK/APPLICATIONGATEWAYS/{applicationGatewayName}","operationName":"ApplicationGatewayAccess","time":"2017-04-26T19:27:38Z","category":"ApplicationGatewayAccessLog","properties":{"instanceId":"ApplicationGatewayRole_IN_0","clientIP":"191.96.249.97","clientPort":46886,"httpMethod":"GET","requestUri":"/phpmyadmin/scripts/setup.php","requestQuery":"X-AzureApplicationGateway-CACHE-HIT=0&SERVER-ROUTED=10.4.0.4&X-AzureApplicationGateway-LOG-ID=874f1f0f-6807-41c9-b7bc-f3cfa74aa0b1&SERVER-STATUS=404","userAgent":"-","httpStatus":404,"httpVersion":"HTTP/1.0","receivedBytes":65,"sentBytes":553,"timeTaken":205,"sslEnabled":"off","host":"www.contoso.com","originalHost":"www.contoso.com"}}`,
		},
	},
}
