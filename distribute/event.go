package distribute

// An Event tells a person what happens to a file, or what a shipper or worker
// waits for.
type Event struct {
	File string // empty: not about one file
	Text string // what happens, in words; empty when Err says it
	Err  error  // what went wrong
}

// A Notify is called with each event, by one goroutine at a time for one
// shipper or worker. It should return soon. Nil is fine: nobody listens.
type Notify func(Event)

func (n Notify) tell(event Event) {
	if n != nil {
		n(event)
	}
}
