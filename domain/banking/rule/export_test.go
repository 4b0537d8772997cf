package rule

// Operators returns the operators of a field.
func (f Field) Operators() []Operator { return f.operators() }

// Text returns the text of a record that the field compares, or "" for the amount and for a field that says of no text.
func (f Field) Text(r *Record) string {
	if of := fields[f.place()].text; of != nil {
		return of(r)
	}

	return ""
}
