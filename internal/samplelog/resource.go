package samplelog

// A resource is something that clients ask for. The quoted request is head,
// a number if there are several, and tail.
type resource struct {
	of256  int // how many of 256 requests are for it
	head   string
	tail   string
	many   uint64 // numbers 1 to many, the low ones more often; 0: no number
	size   uint64 // bytes of an answer, or of the smallest
	spread uint64 // how much larger the largest is
	still  bool   // the same number has the same size each time, and caches keep it
	status string // what it always answers; empty: mostly 200
	from   referer
}

// A referer is where a request may come from.
type referer uint8

const (
	fromNowhere referer = iota
	fromAnywhere
	fromPage
)

// visits has the requests of one kind of client; the place is chosen by a random
// byte.
type visits [256]*resource

func visitsTo(resources ...resource) (v visits) {
	next := 0
	for i := range resources {
		for range resources[i].of256 {
			v[next] = &resources[i]
			next++
		}
	}
	for ; next < len(v); next++ { // what is left over goes to the first
		v[next] = &resources[0]
	}
	return v
}

var people = visitsTo(
	resource{of256: 56, head: "GET /img/products/", tail: "_400.webp HTTP/2.0", many: 2_000, size: 6_144, spread: 40_000, still: true, from: fromPage},
	resource{of256: 34, head: "GET /products/", tail: " HTTP/2.0", many: 2_000, size: 14_020, spread: 9_000, from: fromAnywhere},
	resource{of256: 22, head: "GET / HTTP/2.0", size: 18_311, spread: 700, from: fromAnywhere},
	resource{of256: 22, head: "GET /assets/app-9f3c1e7b.css HTTP/2.0", size: 48_213, still: true, from: fromPage},
	resource{of256: 22, head: "GET /assets/app-51d0a2c4.js HTTP/2.0", size: 183_904, still: true, from: fromPage},
	resource{of256: 14, head: "GET /assets/fonts/inter-var.woff2 HTTP/2.0", size: 95_220, still: true, from: fromPage},
	resource{of256: 10, head: "GET /favicon.ico HTTP/2.0", size: 4_286, still: true, from: fromPage},
	resource{of256: 14, head: "GET /category/", tail: "?sort=price&page=1 HTTP/2.0", many: 48, size: 21_500, spread: 6_000, from: fromAnywhere},
	resource{of256: 12, head: "GET /search?q=winter+jacket&page=", tail: "&utm_source=newsletter&utm_medium=email HTTP/2.0", many: 30, size: 16_200, spread: 8_000, from: fromAnywhere},
	resource{of256: 10, head: "GET /api/v1/products/", tail: "/stock HTTP/2.0", many: 2_000, size: 180, spread: 60, from: fromPage},
	resource{of256: 10, head: "GET /api/v1/cart HTTP/2.0", size: 320, spread: 900, from: fromPage},
	resource{of256: 6, head: "POST /api/v1/cart/items HTTP/2.0", size: 96, spread: 30, status: "201", from: fromPage},
	resource{of256: 4, head: "POST /login HTTP/2.0", status: "302", from: fromPage},
	resource{of256: 8, head: "GET /blog/2026/", tail: "/care-guide HTTP/1.1", many: 12, size: 31_000, spread: 4_000, from: fromAnywhere},
	resource{of256: 8, head: "POST /collect?v=2&tid=G-7XK2&cid=", tail: " HTTP/2.0", many: 60_000, status: "204", from: fromPage},
	resource{of256: 4, head: "GET /caf%C3%A9/men%C3%BC.html HTTP/1.1", size: 7_400, from: fromAnywhere},
)

var robots = visitsTo(
	resource{of256: 150, head: "GET /products/", tail: " HTTP/1.1", many: 2_000, size: 14_020, spread: 9_000},
	resource{of256: 56, head: "GET /category/", tail: "?sort=name HTTP/1.1", many: 48, size: 21_500, spread: 6_000},
	resource{of256: 16, head: "GET /robots.txt HTTP/1.1", size: 214, still: true},
	resource{of256: 10, head: "GET /sitemap.xml HTTP/1.1", size: 88_310, still: true},
	resource{of256: 24, head: "GET /old/item.php?id=", tail: " HTTP/1.1", many: 900, status: "301", size: 169},
)

var programs = visitsTo(
	resource{of256: 180, head: "GET /api/v1/products/", tail: "/stock HTTP/1.1", many: 2_000, size: 180, spread: 60},
	resource{of256: 50, head: "GET /api/v1/orders?since=2026-03-01T00:00:00Z&limit=100&cursor=", tail: " HTTP/1.1", many: 4_000, size: 900, spread: 30_000},
	resource{of256: 26, head: "GET /healthz HTTP/1.1", size: 2},
)

var probes = visitsTo(
	resource{of256: 90, head: "GET /wp-login.php HTTP/1.1", status: "404", size: 153},
	resource{of256: 60, head: "GET /.env HTTP/1.1", status: "404", size: 153},
	resource{of256: 40, head: "GET /.git/config HTTP/1.1", status: "404", size: 153},
	resource{of256: 26, head: "POST /cgi-bin/.%2e/.%2e/bin/sh HTTP/1.1", status: "400", size: 157},
	resource{of256: 24, head: `\x16\x03\x01\x00\xEE\x01\x00\x00\xEA\x03\x03`, status: "400", size: 157},
	resource{of256: 16, status: "408"}, // connected and said nothing
)
