package contact

import (
	"context"

	"stayledger/domain/record/audit"
	"stayledger/domain/record/intake"
	"stayledger/platform/apierr"
	"stayledger/platform/db"
	"stayledger/platform/id"
)

// Merge is a contact that goes into another.
type Merge struct{ From, Into *Contact }

// LockMerge locks two contacts of which one is to go into the other. It fails with apierr.NotFound for an unknown first
// contact, and with an issue at intoId for one that it cannot go into.
func LockMerge(ctx context.Context, tx *db.Tx, from, into id.ID) (*Merge, error) {
	found, err := lockContacts(ctx, tx, names{ids: []id.ID{from, into}})
	if err != nil {
		return nil, err
	}

	m := &Merge{}

	for i := range found {
		c := &found[i].Contact
		if c.ID == from {
			m.From = c
		}

		if c.ID == into {
			m.Into = c
		}
	}

	switch {
	case m.From == nil:
		return nil, apierr.NotFound
	case m.Into == nil:
		return nil, apierr.BadRequest.At(apierr.IssueNotFound.InBody("intoId"))
	case from == into, m.From.Type != m.Into.Type:
		return nil, apierr.BadRequest.At(apierr.IssueContradiction.InBody("intoId"))
	case m.Into.Status != Active:
		return nil, apierr.BadRequest.At(apierr.IssueInactive.InBody("intoId"))
	}

	return m, nil
}

// Retire makes the contact that has gone into the other inactive. The other gets its reference and its key at a
// source if it has none of its own; else the key is given up, because what comes from there is known by the records
// of the source.
func (m *Merge) Retire(ctx context.Context, tx *db.Tx) error {
	from, into := *m.From, *m.Into

	from.Status = Inactive
	if into.UniqueRef == nil {
		from.UniqueRef, into.UniqueRef = nil, from.UniqueRef
	}

	if into.ConnectionID == nil && into.SourceID == nil {
		into.ConnectionID, into.SourceID = from.ConnectionID, from.SourceID
	}

	from.ConnectionID, from.SourceID = nil, nil

	// The first gives its names up before the other takes them.
	stmts := append(writer{}.save(tx, &from, &Update{}, false), writer{}.save(tx, &into, &Update{}, false)...)
	if err := tx.Pipeline(ctx, stmts...); err != nil {
		return conflict(err)
	}

	audit.Note(tx, audit.Updated, audit.Contact, from.ID, view{Contact: m.From}, view{Contact: &from})
	audit.Note(tx, audit.Updated, audit.Contact, into.ID, view{Contact: m.Into}, view{Contact: &into})
	audit.NoteMerged(tx, audit.ContactMove(from.ID, into.ID))

	return intake.RebindAll(ctx, tx, "contact", from.ID, into.ID)
}
