// Package processtest runs the binary of a test again as another program, in
// processes of its own: a signal can end or stop one of them at a chosen moment,
// and the others know nothing of it.
//
// A package that uses it has
//
//	func TestMain(m *testing.M) { processtest.Main(m, program) }
//
// where program is what the processes run; [Start] starts one:
//
//	p := processtest.Start(t, processtest.Command(t, "--some", "argument"))
//	p.Await("ready")
//	p.Kill()
//
// A program ends itself at one of its Redis commands with a [CommandSignal].
// Processes end with their test, and with the test binary where the kernel can
// see to it.
package processtest
