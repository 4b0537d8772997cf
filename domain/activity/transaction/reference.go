package transaction

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"stayledger/domain/activity/reservation"
	"stayledger/domain/books/account"
	"stayledger/domain/books/tax"
	"stayledger/domain/property/listing"
	"stayledger/domain/tenant/connection"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/ptr"
)

// idSet collects ids, each once.
type idSet map[id.ID]struct{}

// add adds an id unless it is zero.
func (s idSet) add(v id.ID) {
	if !v.IsZero() {
		s[v] = struct{}{}
	}
}

// list returns the ids in their order, so that locks are always taken in the same order.
func (s idSet) list() []id.ID {
	return slices.SortedFunc(maps.Keys(s), id.ID.Compare)
}

// references are the records that transactions name, as far as the team has them.
type references struct {
	books        *account.Books
	contacts     map[id.ID]bool
	connections  map[id.ID]bool
	reservations map[id.ID]id.ID  // the listing of each
	currencies   map[id.ID]string // of reservations and statements
	statements   map[id.ID]statementFact
	listings     map[id.ID]string // the status of each
	templates    map[id.ID]bool
	rates        map[id.ID]tax.Rate
	facts        Facts
}

// statementFact has the facts about an owner statement that a payout names.
type statementFact struct {
	listing   id.ID
	published bool
}

// loadReferences loads the records that drafts name, for all of them at once. Lines get the listing of their reservation or
// owner statement on the way.
func loadReferences(ctx context.Context, tx *db.Tx, books *account.Books, drafts []*draft) (*references, error) {
	r := &references{books: books, facts: Facts{Assigned: books.Assigned, Banks: books.Banks}}
	if err := r.loadNamed(ctx, tx, drafts); err != nil {
		return nil, err
	}

	// Listings come second: lines may only now get theirs from a reservation or a statement.
	listings, rates, connections := idSet{}, idSet{}, idSet{}

	for _, d := range drafts {
		connections.add(ptr.Value(d.ConnectionID))

		stored := d.linesByID()
		for i := range d.Lines {
			l := &d.Lines[i]
			r.giveListing(l, stored[l.ID])
			listings.add(ptr.Value(l.ListingID))

			if l.AppliedAmount != nil {
				rates.add(l.AppliedAmount.TaxRateID)
			}

			if l.Markup != nil {
				rates.add(ptr.Value(l.Markup.TaxRateID))
			}
		}
	}

	stays := make([]id.ID, 0, len(r.reservations))
	for v := range r.reservations {
		stays = append(stays, v)
	}

	// The listings are locked before their periods are read, see lockListings.
	works := []db.Work{
		db.LoadBy(&r.listings, lockListings, listings.list()),
		db.LoadBy(&r.facts.Periods, loadPeriods, listings.list()),
	}
	if len(stays) > 0 {
		works = append(works, db.LoadBy(&r.facts.Stays, reservation.LoadNights, stays))
	}

	if len(connections) > 0 {
		works = append(works, db.LoadBy(&r.connections, connection.HoldAll, connections.list()))
	}

	if len(rates) > 0 {
		works = append(works, db.LoadBy(&r.rates, tax.ByID, rates.list()))
	}

	if err := tx.Together(ctx, works...); err != nil {
		return nil, fmt.Errorf("read listings, connections and tax rates: %w", err)
	}

	return r, nil
}

// giveListing gives a line the listing of its reservation, unless the caller named one, or the listing of its owner
// statement. A line that is sent again as it is stored, listing included, still follows its reservation.
func (r *references) giveListing(l, stored *Line) {
	stay := r.reservations[ptr.Value(l.ReservationID)]
	if stored != nil && stored.FollowsReservation && ptr.Value(stored.ReservationID) == ptr.Value(l.ReservationID) &&
		ptr.Value(stored.ListingID) == ptr.Value(l.ListingID) {
		l.FollowsReservation = true
	}

	switch statement := r.statements[ptr.Value(l.OwnerStatementID)].listing; {
	case !stay.IsZero() && (l.ListingID == nil || l.FollowsReservation):
		l.ListingID, l.FollowsReservation = &stay, true
	case l.ListingID == nil && !statement.IsZero():
		l.ListingID = &statement
	}
}

// named is a record that a transaction names: its kind, and the facts of that kind.
type named struct {
	Kind   string
	ID     id.ID
	Detail string
	Other  id.ID
}

// namedSQL selects all named records of every kind, one row for each fact.
const namedSQL = `
	select 'contact' as kind, id, '' as detail, null::uuid as other from contact where team_id = @team and id = any(@contacts)
	union all select 'reservation', id, currency, listing_id from reservation where team_id = @team and id = any(@reservations)
	union all select 'template', id, '', null from transaction_template where team_id = @team and id = any(@templates)
	union all select 'statement', id, status, listing_id from statement where team_id = @team and id = any(@statements)
	union all select 'paidPeriod', id, currency, ownership_period_id from statement where team_id = @team and id = any(@statements)`

// loadNamed loads the contacts, reservations, templates and statements that drafts name. A record that the team does
// not have is absent.
func (r *references) loadNamed(ctx context.Context, tx *db.Tx, drafts []*draft) error {
	contacts, reservations, statements, templates := idSet{}, idSet{}, idSet{}, idSet{}

	// First collect the ids of all drafts.
	for _, d := range drafts {
		contacts.add(ptr.Value(d.ContactID))
		templates.add(ptr.Value(d.RecurringTemplateID))

		for i := range d.Lines {
			l := &d.Lines[i]
			contacts.add(ptr.Value(l.ContactID))
			reservations.add(ptr.Value(l.ReservationID))
			statements.add(ptr.Value(l.OwnerStatementID))
		}
	}

	r.contacts, r.reservations, r.templates = map[id.ID]bool{}, map[id.ID]id.ID{}, map[id.ID]bool{}
	r.statements, r.facts.Paid, r.currencies = map[id.ID]statementFact{}, map[id.ID]id.ID{}, map[id.ID]string{}

	if len(contacts)+len(reservations)+len(statements)+len(templates) == 0 {
		return nil
	}

	// Then load everything with one query.
	found, err := db.Select[named](ctx, tx, namedSQL, db.Args{
		"team":         tx.Team,
		"contacts":     contacts.list(),
		"reservations": reservations.list(),
		"statements":   statements.list(),
		"templates":    templates.list(),
	})
	if err != nil {
		return fmt.Errorf("read what transactions name: %w", err)
	}

	// Last, sort the rows by kind.
	for _, n := range found {
		switch n.Kind {
		case "contact":
			r.contacts[n.ID] = true
		case "reservation":
			r.reservations[n.ID], r.currencies[n.ID] = n.Other, n.Detail
		case "template":
			r.templates[n.ID] = true
		case "paidPeriod":
			r.facts.Paid[n.ID], r.currencies[n.ID] = n.Other, n.Detail
		case "statement":
			r.statements[n.ID] = statementFact{listing: n.Other, published: n.Detail == "published"}
		}
	}

	return nil
}

// lockListings locks listings and loads their statuses. A change of ownership locks its listing: it either commits
// before the periods are read here, or waits for this transaction and derives the journals written here again.
func lockListings(ctx context.Context, tx *db.Tx, ids []id.ID) (map[id.ID]string, error) {
	statuses := map[id.ID]string{}
	if len(ids) == 0 {
		return statuses, nil
	}

	type row struct {
		ID     id.ID
		Status string
	}

	found, err := db.Select[row](ctx, tx, `select id, status from listing where team_id = @team and id = any(@ids) order by id for key share`,
		db.Args{"team": tx.Team, "ids": ids})
	for _, l := range found {
		statuses[l.ID] = l.Status
	}

	return statuses, err
}

// loadPeriods loads the ownership periods of listings. Without listings it needs no query.
func loadPeriods(ctx context.Context, tx *db.Tx, listings []id.ID) (map[id.ID][]listing.Period, error) {
	if len(listings) == 0 {
		return map[id.ID][]listing.Period{}, nil
	}

	return listing.Periods(ctx, tx, listings)
}
