package samplelog

import (
	"encoding/binary"
	"math/bits"
	"net/netip"
)

// clients is how many there are; a power of two less one, because popular
// picks by octaves.
const clients = 1<<octaves - 1

const octaves = 16

// popular turns 4 + 15 random bits into a rank below clients with a frequency
// of about 1/rank, Zipf's law: each octave (1, 2–3, 4–7, …) is equally likely.
func popular(random uint64) uint64 {
	octave := random & (octaves - 1)
	return 1<<octave + random>>4&(1<<octave-1) - 1
}

// A client is one that sends requests, with the same agent each time.
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

// address gives the client of a rank its address: one in 32 has IPv6, one in
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
