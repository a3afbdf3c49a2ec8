package distribute

import "time"

// LookEvery sets the time between two looks of Follow.
func (s *Shipper) LookEvery(interval time.Duration) { s.interval = interval }
