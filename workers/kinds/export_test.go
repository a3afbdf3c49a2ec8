package kinds

// Names returns the names of the built-in kinds.
func Names() (names []string) {
	for _, k := range builtIns() {
		names = append(names, k.name)
	}
	return names
}
