package intake

// Merge is merge, for its tables.
func Merge(k *Kind, taken, here, incoming Values) (Values, []Conflict, error) {
	out, err := k.merge(taken, here, incoming)
	if err != nil {
		return nil, nil, err
	}

	return out.fields, out.conflicts, nil
}

// HashOf returns the hash of a change.
func HashOf(c *Change) ([]byte, error) { return new(hasher).sum(c) }

// TakeTheirs is takeTheirs, for its tables.
func TakeTheirs(k *Kind, taken, here Values, paths ...string) (Values, error) {
	chosen := map[string]bool{}
	for _, p := range paths {
		chosen[p] = true
	}

	return k.takeTheirs(taken, here, chosen)
}

// CheckLists is what new records are held to.
func CheckLists(k *Kind, v Values) error { return k.checkLists(v) }
