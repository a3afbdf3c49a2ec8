package formats

import "time"

var googleStorage = Format{
	Name:          "gcs",
	Description:   "Google Cloud Storage, usage logs",
	Specification: "https://cloud.google.com/storage/docs/access-logs",
	Unit:          time.Microsecond,
	Header:        `"time_micros",`,
	Layouts: []string{
		`"$msec","$remote_addr","$ip_type","$region","$request_method","$request_uri","$status","$received_bytes","$bytes_sent","$request_time",` +
			`"$host","$http_referer","$http_user_agent",$rest`,
	},
	Example: `"time_micros","c_ip","c_ip_type","c_ip_region","cs_method","cs_uri","sc_status","cs_bytes","sc_bytes","time_taken_micros","cs_host","cs_referer","cs_user_agent","s_request_id","cs_operation","cs_bucket","cs_object"` + "\n" +
		`"1594939200123456","203.0.113.7","1","","GET","/bucket/object","200","0","23","4000","storage.googleapis.com","","curl/8.5","AMSGTaCBY8x2JPn5Kw","GET_Object","bucket","object"`,
	Reads: "2020-07-16T22:40:00Z 200 method=GET host=storage.googleapis.com path=/bucket/object referrer= agent=curl/8.5 23 B 4ms",
	Real: []Line{
		{
			Origin:  "kanjiapi.dev, tests of its usage",
			Address: "172.71.142.38", Time: "2023-08-28T07:00:14Z", Status: "200",
			Text: "\"time_micros\",\"c_ip\",\"c_ip_type\",\"c_ip_region\",\"cs_method\",\"cs_uri\",\"sc_status\",\"cs_bytes\",\"sc_bytes\",\"time_taken_micros\",\"cs_host\",\"cs_referer\",\"cs_user_agent\",\"s_request_id\",\"cs_operation\",\"cs_bucket\",\"cs_object\"\n" +
				`"1693206014339368","172.71.142.38","1","","GET","/v1/kanji/%E9%9B%86","200","0","277","488000","kanjiapi.dev","http://127.0.0.1:59961/","Mozilla/5.0 (Windows NT 6.2; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) QtWebEngine/6.4.3 Chrome/102.0.5005.177 Safari/537.36","ADPycduvHuLfdAtc-f-Uyl-AONU9elsqMfPUaul2F0vpty_e_YDJ67AKrjeB3_60LKULw_l50awy-M8UxjCnP4bhuWx7","GET_Object","kanjiapi.dev","v1/kanji/集"`,
		},
	},
}
