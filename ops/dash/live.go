package dash

// A recorder keeps the live values of a page while it is drawn. A nil one keeps nothing.
type recorder struct {
	values map[string]string
	rows   map[string][]string
}

func (r *recorder) set(key, text string) {
	if r != nil {
		r.values[key] = text
	}
}
