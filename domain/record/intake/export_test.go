package intake

// Merge is merge, for its tables.
var Merge = merge

// HashOf returns the hash of a change.
func HashOf(c *Change) ([]byte, error) { return c.hash() }
