package rule

// Operators returns the operators of a field.
func (f Field) Operators() []Operator { return f.operators() }
