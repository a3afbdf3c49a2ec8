package accesslog

// origins are where the real lines came from with which each format was tried. They are in
// testdata/real.txt.
var origins = map[string][]string{
	"aws-alb":              {"AWS documentation, ALB", "crowdsecurity/hub, ALB without target", "goaccess#2557, ALB and IPv6"},
	"aws-elb":              {"AWS documentation, Classic Load Balancer", "AWS documentation, Classic Load Balancer, TCP listener"},
	"aws-nlb":              {"AWS documentation, NLB"},
	"aws-s3":               {"AWS documentation, S3"},
	"aws-waf":              {"AWS documentation, WAF"},
	"azure":                {"elastic/integrations, Azure Front Door"},
	"caddy":                {"crowdsecurity/hub, Caddy"},
	"cloudflare":           {"elastic/integrations, Cloudflare Logpush"},
	"cloudfront":           {"AWS documentation, CloudFront"},
	"cloudfront-json":      {"tests of a CloudFront analyser, post-tenebras-lire.net"},
	"cloudfront-real-time": {"AWS documentation, CloudFront real-time"},
	"combined":             {"elastic/integrations, Apache"},
	"common":               {"elastic/integrations, Apache, common"},
	"envoy":                {"Envoy documentation", "Istio documentation"},
	"envoy-json":           {"elastic/integrations, Istio in JSON"},
	"gcp-lb":               {"elastic/integrations, Google load balancer"},
	"gcs":                  {"kanjiapi.dev, tests of its usage"},
	"haproxy":              {"HAProxy documentation, a request that is none", "fluentd-docs-gitbook#271, HAProxy on ::", "tstack/lnav, HAProxy without its syslog header"},
	"iis":                  {"Microsoft documentation, IIS log format"},
	"ingress-nginx":        {"elastic/integrations, ingress-nginx and IPv6"},
	"nginx-json":           {"documentation of an nginx lab, Athena Labs"},
	"nginx-proxy-manager":  {"tests of planils.sonils.co.ao, Nginx Proxy Manager"},
	"squid":                {"Squid documentation"},
	"traefik":              {"crowdsecurity/hub, Traefik"},
	"traefik-json":         {"elastic/integrations, Traefik"},
	"vhost":                {"elastic/integrations, Apache, virtual host"},
	"w3c":                  {"tstack/lnav, IIS 4 without dates", "tstack/lnav, IIS 8.5", "tstack/lnav, IIS Advanced Logging", "tstack/lnav, Incapsula", "tstack/lnav, Oracle Web Cache"},
}

// Origins returns where the real lines came from with which the format was tried: public
// projects and the documentation of servers. It is empty if there were none.
func (f Format) Origins() []string { return origins[f.name] }
