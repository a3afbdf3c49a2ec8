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

// row records a row of a table by its id, in the order of the table.
func (r *recorder) row(table, id string) {
	if r != nil {
		r.rows[table] = append(r.rows[table], id)
	}
}
