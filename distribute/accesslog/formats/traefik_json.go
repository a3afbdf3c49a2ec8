package formats

import "time"

var traefikJSON = Format{
	Name:          "traefik-json",
	Description:   "Traefik's access log in JSON",
	Specification: "https://doc.traefik.io/traefik/observability/access-logs/",
	Kind:          Objects,
	Unit:          time.Nanosecond,
	Fields: `
		address  ClientHost
		time     StartUTC time
		status   DownstreamStatus
		method   RequestMethod
		path     RequestPath
		host     RequestHost
		protocol RequestProtocol
		referrer request_Referer
		agent    request_User-Agent
		user     ClientUsername
		bytes    DownstreamContentSize
		duration Duration`,
	Example: `{"ClientAddr":"192.0.2.1:52134","ClientHost":"203.0.113.7","DownstreamStatus":200,"RequestMethod":"GET","RequestPath":"/","StartUTC":"2021-12-08T09:16:05.123456789Z","level":"info","time":"2021-12-08T09:16:05Z"}`,
	Reads:   "2021-12-08T09:16:05Z 200 method=GET path=/",
	Real: []Line{
		{
			Origin:  "elastic/integrations, Traefik",
			Address: "175.16.199.10", Time: "2024-02-09T11:53:32Z", Status: "200",
			Text: `{"ClientAddr": "10.10.8.105:48376","ClientHost": "175.16.199.10","ClientPort": "48376","ClientUsername": "-","DownstreamContentSize": 88,"DownstreamStatus": 200,"Duration": 59518533,"OriginContentSize": 88,"OriginDuration": 59428568,"OriginStatus": 200,"Overhead": 89965,"RequestAddr": "api-students.unpad.ac.id","RequestContentSize": 0,"RequestCount": 75,"RequestHost": "api-students.unpad.ac.id","RequestMethod": "GET","RequestPath": "/api/v1/study/140410210038/card/comment","RequestPort": "-","RequestProtocol": "HTTP/1.0","RequestScheme": "http","RetryAttempts": 0,"ServiceURL": {"Scheme": "http","Opaque": "","User": null,"Host": "10.1.25.243:80","Path": ""},"StartLocal": "2024-02-09T11:53:32.609696286Z","StartUTC": "2024-02-09T11:53:32.609696286Z","entryPointName": "web","level": "info","msg": "","time": "2024-02-09T11:53:32Z"}`,
		},
	},
}
