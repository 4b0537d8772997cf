package plaid

// ReadPage reads the JSON of a page for tests that read very many.
func ReadPage(content string) Page {
	p, err := readPage([]byte(content))
	if err != nil {
		panic(err)
	}

	return p
}
