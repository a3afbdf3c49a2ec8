// Package redistest starts real redis-server processes for tests.
//
// One server a test binary is shared by its tests; each test gets a logical
// database of its own, empty, so that tests can run in parallel and count what
// is left behind. A package that uses it has
//
//	func TestMain(m *testing.M) { redistest.Main(m) }
//
// A test that stops or kills its server starts one of its own with [Start].
// Servers listen on unix sockets in temporary folders, never on a port that
// others could reach, and end with the test binary, even when it is killed. A
// missing redis-server fails a test; it never skips it.
package redistest
