package intake

// Merge is merge, for its tables.
func Merge(taken, here, incoming Values, lists map[string][]string) (Values, []Conflict, error) {
	out, err := merge(taken, here, incoming, lists)
	if err != nil {
		return nil, nil, err
	}

	return out.fields, out.conflicts, nil
}

// HashOf returns the hash of a change.
func HashOf(c *Change) ([]byte, error) { return new(hasher).sum(c) }

// CheckLists is what new records are held to.
var CheckLists = checkLists
