package parts

import (
	"context"

	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Copy is the part that a noun adds to a new team, from the standard or from another team.
type Copy struct {
	// Name is the name by which callers choose the part.
	Name string
	// Whole parts are records, not settings: only a duplicate of a whole team has them.
	Whole bool
	// NeedsBooks parts are left out of a team without a general ledger.
	NeedsBooks bool
	// Standard adds what the standard has and the team lacks; nil when it has nothing of the noun.
	Standard db.Work
	// Read reads the part of another team in sight, and returns the function that adds it to the transaction's team.
	Read func(ctx context.Context, tx *db.Tx, from id.ID) (Paste, error)
}

// Counterparts maps records of the copied team to their counterparts in the new team, for later nouns that refer
// to the records.
type Counterparts map[id.ID]id.ID

// Paste adds a loaded part if asked is true, and leaves out records that the team has already. Whether asked or not, it
// notes the counterparts of the loaded records.
type Paste func(ctx context.Context, tx *db.Tx, asked bool, here Counterparts) error

// Copying returns a Read for parts with records that no other noun names: read loads the part and add inserts it.
func Copying[T any](
	read func(context.Context, *db.Tx, id.ID) (T, error),
	add func(context.Context, *db.Tx, T, Counterparts) error,
) func(context.Context, *db.Tx, id.ID) (Paste, error) {
	return func(ctx context.Context, tx *db.Tx, from id.ID) (Paste, error) {
		found, err := read(ctx, tx, from)

		return func(ctx context.Context, tx *db.Tx, asked bool, here Counterparts) error {
			// No other noun names the records, so an unwanted part has no counterparts to note.
			if !asked {
				return nil
			}

			return add(ctx, tx, found, here)
		}, err
	}
}

// Copies returns the parts that nouns add to a new team, in their order.
func Copies(nouns ...Part) (all []Copy) {
	for _, p := range nouns {
		if p.Copy != nil {
			all = append(all, *p.Copy)
		}
	}

	return all
}
