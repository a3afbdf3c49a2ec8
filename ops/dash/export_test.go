package dash

import "time"

// SetCheckEvery sets how often sessions of open streams are checked.
func (d *Dash) SetCheckEvery(every time.Duration) { d.checkEvery = every }
