// Package redistest starts real redis-server processes for tests, and makes
// the faults that Redis and the network before it can have.
//
// One server a test binary is shared by its tests; each test gets a logical
// database of its own, empty, so that tests can run in parallel and count what
// is left behind. A package that uses it has
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
//
// A Redis Cluster of three masters is shared in the same way; there a test is
// distinguished by a key prefix of its own, see [ClusterDB]. [Backends] runs a
// test on a server and on the embedded Redis, [AllBackends] on the cluster too.
//
// A test that stops or kills its server starts one of its own with [Start]. One
// that wants replies lost, connections cut or the network silent puts a proxy
// before a server:
//
//	p := redistest.StartProxy(t, redistest.URL(t))
//	db := redistest.Open(t, p.URL)
//	lost := p.DropReply(3) // carried out, but never answered
//
// Servers listen on unix sockets in temporary folders, those of the cluster on
// loopback too, never where others could reach them. They end with the test
// binary, even when it is killed. A missing redis-server fails a test; it never
// skips it.
package redistest
