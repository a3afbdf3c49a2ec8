package samplelog

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// clients is the number of clients; a power of two less one, because popular
// picks by octaves.
const clients = 1<<octaves - 1

const octaves = 16

// popular turns 4 + 15 random bits into a rank below clients with a frequency
// of about 1/rank, Zipf's law: each octave (1, 2–3, 4–7, …) is equally likely.
func popular(random uint64) uint64 {
	octave := random & (octaves - 1)
	return 1<<octave + random>>4&(1<<octave-1) - 1
}

// A client sends requests, with the same agent each time.
type client struct {
	addr   string
	agent  string
	visits *visits
}

// crowd holds the clients, each made when it is first seen.
type crowd struct {
	seed    uint64
	clients []client
}

func newCrowd(seed uint64) *crowd { return &crowd{seed: seed, clients: make([]client, clients)} }

func (c *crowd) client(rank uint64) *client {
	one := &c.clients[rank]
	if one.addr == "" {
		one.addr = address(rank, c.seed).String()
		one.agent, one.visits = agentOf(mix(c.seed + rank<<32 + 3))
	}
	return one
}

// address returns the client of a rank its address: one in 32 has IPv6, one in
// 128 comes from the inside, the others are spread over the public IPv4 space.
func address(rank, seed uint64) netip.Addr {
	random := mix(seed + rank<<32)
	switch {
	case rank%32 == 5:
		return address6(random, mix(random))
	case rank%128 == 76:
		return netip.AddrFrom4([4]byte{10, byte(random) & 3, byte(random >> 8), byte(random>>16) | 1})
	}
	for {
		addr := netip.AddrFrom4([4]byte{byte(random), byte(random >> 8), byte(random >> 16), byte(random >> 24)})
		if isPublic4(addr.As4()) {
			return addr
		}
		random = mix(random)
	}
}

// isPublic4 is stricter than it must be: it leaves out whole /16 blocks that
// hold special-purpose addresses (RFC 6890).
func isPublic4(a [4]byte) bool {
	switch a[0] {
	case 0, 10, 127:
		return false
	case 100:
		return a[1]&0xc0 != 64
	case 169:
		return a[1] != 254
	case 172:
		return a[1]&0xf0 != 16
	case 192:
		return a[1] != 0 && a[1] != 168 && a[1] != 88
	case 198:
		return a[1]&0xfe != 18 && a[1] != 51
	case 203:
		return a[1] != 0
	}
	return a[0] < 224
}

// networks6 are the first 32 bits of large IPv6 networks in several countries.
var networks6 = [...]uint32{
	0x20010240, // JP, IIJ
	0x200141d0, // FR, OVH
	0x20014860, // US, Google
	0x20018003, // AU, Telstra
	0x200300c0, // DE, Deutsche Telekom
	0x24014900, // IN, Bharti Airtel
	0x2409895e, // CN, China Mobile
	0x26001700, // US, AT&T
	0x2607fea8, // CA, Rogers
	0x2804014c, // BR, Claro
	0x2a001450, // IE, Google
	0x2a0104f8, // DE, Hetzner
	0x2a022f00, // RO, RCS & RDS
}

func address6(random, host uint64) netip.Addr {
	var a [16]byte
	high, _ := bits.Mul64(random, uint64(len(networks6)))
	binary.BigEndian.PutUint32(a[:], networks6[high])
	binary.BigEndian.PutUint32(a[4:], uint32(random))
	binary.BigEndian.PutUint64(a[8:], host)
	return netip.AddrFrom16(a)
}

// mix spreads the bits of x over 64 bits (the finalizer of SplitMix64: Steele,
// Lea, Flood, Fast Splittable Pseudorandom Number Generators, 2014).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// agents are the programs that send requests, by what they request; the
// number is the share of the kind among 256 clients.
var agents = []struct {
	of256  uint64
	visits *visits
	names  []string
}{
	{208, &people, []string{
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/145.0.0.0 Safari/537.36",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/145.0.0.0 Mobile Safari/537.36",
		"Mozilla/5.0 (iPhone; CPU iPhone OS 18_6 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.2 Mobile/15E148 Safari/604.1",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/145.0.0.0 Safari/537.36",
		"Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/26.2 Safari/605.1.15",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:147.0) Gecko/20100101 Firefox/147.0",
		"Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/145.0.0.0 Safari/537.36 Edg/145.0.0.0",
		"Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 (KHTML, like Gecko) SamsungBrowser/28.0 Chrome/130.0.0.0 Mobile Safari/537.36",
		"Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/143.0.0.0 Safari/537.36 OPR/127.0.0.0",
	}},
	{24, &robots, []string{
		"Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)",
		"Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)",
		"Mozilla/5.0 (compatible; YandexBot/3.0; +http://yandex.com/bots)",
		"Mozilla/5.0 (compatible; AhrefsBot/7.0; +http://ahrefs.com/robot/)",
		"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; compatible; GPTBot/1.2; +https://openai.com/gptbot)",
		"facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)",
	}},
	{16, &programs, []string{
		"okhttp/4.12.0",
		"curl/8.5.0",
		"python-requests/2.32.3",
		"Go-http-client/2.0",
	}},
	{8, &probes, []string{
		"-",
		"Mozilla/5.0 zgrab/0.x",
		"Mozilla/5.0 (Windows NT 6.1; rv:60.0) Gecko/20100101 Firefox/60.0",
	}},
}

// agentOf picks an agent, the first names of a kind more often, and the sort of
// requests that it sends.
func agentOf(random uint64) (string, *visits) {
	kind, rest := 0, random&255
	for rest >= agents[kind].of256 {
		rest -= agents[kind].of256
		kind++
	}
	names := agents[kind].names
	a, b := random>>8&0xffff%uint64(len(names)), random>>24&0xffff%uint64(len(names))
	return names[min(a, b)], agents[kind].visits
}
