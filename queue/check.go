package queue

// Check says whether Enqueue would take a job: its error, which wraps
// [ErrInvalid], is the one that Enqueue would give. Nothing is sent.
func (c *Client) Check(insert Insert) error {
	_, _, err := c.prepare(insert)
	return err
}

// Bytes gives args as a job carries them. Those of [Raw] are not copied.
func Bytes(args Args) ([]byte, error) { return marshal(args) }
