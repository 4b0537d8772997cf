package journal

import (
	"context"
	"fmt"

	"stayledger/domain/books/ledger"
	"stayledger/domain/record/audit"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// createJournal stores a new journal and posts it. It fails with 400 if a line names a record that the team does not
// have or if the lines do not balance, and with a lock that holds its day.
func createJournal(ctx context.Context, tx *db.Tx, c *Create) (*Journal, error) {
	return save(ctx, tx, newDraft(c, tx.NewID()), nil)
}

// updateJournal changes a journal and posts the difference. Only the date and the texts of a journal that is reversed,
// or that is a reversal, can change.
func updateJournal(ctx context.Context, tx *db.Tx, one id.ID, u *Update) (*Journal, error) {
	old, err := lockOne(ctx, tx, one)
	if err != nil {
		return nil, err
	}

	// A change of the money would no longer fit the reversal.
	field := u.moneyField()
	if field != "" && old.ReversedByID != nil {
		return nil, errReversed.With(Reversed{*old.ReversedByID})
	}

	if field != "" && old.ReversesID != nil {
		return nil, apierr.BadRequest.At(apierr.IssueReversalFixed.InBody(field))
	}

	return save(ctx, tx, newUpdateDraft(old, u), old)
}

// reverseJournal reverses a journal on a date of the caller's choice. The original stays, and the two name each other.
// It fails with a conflict for one that is reversed already.
func reverseJournal(ctx context.Context, tx *db.Tx, one id.ID, r *Reversal) (*Journal, error) {
	original, err := lockOne(ctx, tx, one)
	if err != nil {
		return nil, err
	}

	if original.ReversedByID != nil {
		return nil, errReversed.With(Reversed{*original.ReversedByID})
	}

	// The reversal is saved like any new journal, with the original as the journal before it.
	return save(ctx, tx, original.reversal(r, tx.NewID()), original)
}

// deleteJournal takes a journal out of the books and deletes it. It fails with reason inUse for one that a reversal
// names.
func deleteJournal(ctx context.Context, tx *db.Tx, one id.ID) error {
	old, err := lockOne(ctx, tx, one)
	if err != nil {
		return err
	}

	if old.ReversedByID != nil {
		return errInUse.With(
			reversedInUse{apierr.InUse{LockReasons: []string{"reversed"}}, Reversed{*old.ReversedByID}},
		)
	}

	// First the entries, which a lock may hold, then the journal.
	if _, err := ledger.Replace(ctx, tx, []id.ID{one}, nil, ledger.Lenience{}); err != nil {
		return fmt.Errorf("take a journal out of the books: %w", err)
	}

	if _, err := tx.Exec(ctx, `delete from journal where team_id = @team and id = @id`, db.Args{"team": tx.Team, "id": one}); err != nil {
		return fmt.Errorf("delete a journal: %w", err)
	}

	note(tx, audit.Deleted, old, nil)

	return nil
}

// save completes a draft, checks it, stores it and posts it. The argument before is the journal as stored, or the
// original of a reversal; accounts that it names may stay in use.
func save(ctx context.Context, tx *db.Tx, j, before *Journal) (*Journal, error) {
	n := &references{}

	// First load the team's books and the records that the draft names.
	if err := n.load(ctx, tx, []*Journal{j}); err != nil {
		return nil, err
	}

	// The original of a reversal is not the stored version of the draft.
	stored := before
	if before != nil && before.ID != j.ID {
		stored = nil
	}

	// Then check it, the cheap checks first: those that need only the settings, then those of the named records.
	if err := checkTerms(n.books, j, stored); err != nil {
		return nil, err
	}

	if err := n.loadListings(ctx, tx, []*Journal{j}); err != nil {
		return nil, err
	}

	if err := j.check(n, before); err != nil {
		return nil, err
	}

	p, err := j.derivePosting(n)
	if err != nil {
		return nil, err
	}

	// What is in the books can be taken back in every team.
	if j.ReversesID == nil {
		if err := ledger.CheckOperations(ctx, tx, []ledger.Posting{p}); err != nil {
			return nil, err
		}
	}

	// A new journal has no entries that could be replaced.
	book := ledger.Replace
	if stored == nil {
		book = ledger.Post
	}

	// Last, store and post it in one round trip.
	err = tx.Together(ctx,
		func(ctx context.Context, tx *db.Tx) error {
			if err := saveRows(ctx, tx, j, stored == nil); err != nil {
				return err
			}

			switch {
			case stored != nil:
				note(tx, audit.Updated, stored, j)

			// The original gets an event of its own: it is reversed by a new journal.
			case before != nil:
				audit.Note(tx, audit.Reversed, audit.Journal, before.ID, nil, map[string]id.ID{"reversedById": j.ID})
				fallthrough
			default:
				note(tx, audit.Created, nil, j)
			}

			return nil
		},
		func(ctx context.Context, tx *db.Tx) error {
			if _, err := book(ctx, tx, []id.ID{j.ID}, []ledger.Posting{p}, ledger.Lenience{}); err != nil {
				return fmt.Errorf("post a journal: %w", err)
			}

			return nil
		})
	if err != nil {
		return nil, err
	}

	return loadShown(ctx, tx, j.ID)
}

// view is a journal as audit events show it: without the fields that are computed from other records.
type view struct {
	*Journal
	ReversedByID *struct{}  `json:"reversedById,omitempty"`
	Lines        []lineView `json:"lines"`
}

// lineView is a line as audit events show it.
type lineView struct {
	*Line
	Account     *struct{} `json:"account,omitempty"`
	Listing     *struct{} `json:"listing,omitempty"`
	Contact     *struct{} `json:"contact,omitempty"`
	Reservation *struct{} `json:"reservation,omitempty"`
}

// auditView returns the view of a journal for its audit event, nil for none.
func auditView(j *Journal) any {
	if j == nil {
		return nil
	}

	v := view{Journal: j}
	for i := range j.Lines {
		v.Lines = append(v.Lines, lineView{Line: &j.Lines[i]})
	}

	return v
}

// note writes the audit event of a journal. It concerns all records that its lines name, before and after.
func note(tx *db.Tx, what audit.Type, before, after *Journal) {
	var (
		journalID id.ID
		refs      []audit.Reference
	)

	for _, j := range []*Journal{before, after} {
		if j == nil {
			continue
		}

		journalID = j.ID

		refs = append(refs, audit.Ref(audit.RoleParent, audit.Journal, j.ReversesID))
		for i := range j.Lines {
			l := &j.Lines[i]
			refs = append(
				refs,
				audit.Ref(audit.RoleAccount, audit.Account, l.AccountID),
				audit.Ref(audit.RoleListing, audit.Listing, l.ListingID),
				audit.Ref(audit.RoleOwner, audit.Contact, l.ContactID),
				audit.Ref(audit.RoleReservation, audit.Reservation, l.ReservationID),
			)
		}
	}

	audit.Note(tx, what, audit.Journal, journalID, auditView(before), auditView(after), refs...)
}
