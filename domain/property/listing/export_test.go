package listing

// Overlaps and Contains are for the property tests.
func (p *Period) Overlaps(o *Period) bool { return p.overlaps(o) }

// Contains is contains.
func (p *Period) Contains(o, within *Period) bool { return p.contains(o, within) }
