package statement

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"stayledger/domain/property/contact"
	"stayledger/platform/day"
	"stayledger/platform/db"
	"stayledger/platform/id"
	"stayledger/platform/page"
)

// Words are the names that a published statement keeps: those of the moment at which it was published. Every later
// reader, of JSON, PDF, CSV or e-mail, sees the names that its owners saw then, however listings, owners, accounts
// and guests have been renamed. A statement that is not published keeps no names and is shown with the names of
// today, which are those that it would be published with.
type Words struct {
	Listing ListingWords         `json:"listing"`
	Owners  map[id.ID]OwnerWords `json:"owners"`
	// Accounts and Stays are those of the statement's entries; they are read only with the entries.
	Accounts map[id.ID]accountWords `json:"accounts"`
	Stays    map[id.ID]stayWords    `json:"stays"`
}

// ListingWords name the listing.
type ListingWords struct {
	Name      string           `json:"name"`
	UniqueRef *string          `json:"uniqueRef"`
	Address   *contact.Address `json:"address"`
}

// OwnerWords name a member of the ownership.
type OwnerWords struct {
	Name    string           `json:"name"`
	Address *contact.Address `json:"address"`
}

// accountWords name an account. Place is its place among those of the statement by code and name, from 1.
type accountWords struct {
	Name           string `json:"name"`
	Code           string `json:"code"`
	Classification string `json:"classification"`
	Place          int    `json:"place"`
}

type stayWords struct {
	GuestName        *string `json:"guestName"`
	ConfirmationCode *string `json:"confirmationCode"`
	CheckIn          day.Day `json:"checkIn"`
	CheckOut         day.Day `json:"checkOut"`
	BookingPlatform  *string `json:"bookingPlatform"`
	Status           string  `json:"status"`
}

// entryWordsSQL begins a statement with the names of the accounts and stays of the entries of published statements, by
// statement: the tables accounts and stays. It reads the entries of all @ids once.
var entryWordsSQL = `
		with published as materialized (
			select id from statement where team_id = @team and id = any(@ids) and status = 'published'
		), used as materialized (
			select e.statement_id, e.account_id, e.reservation_id from ledger_entry e
			where e.team_id = @team and e.statement_id = any(array(select id from published))
		), chart as materialized (
			select a.id, jsonb_build_object('name', a.name, 'code', coalesce(a.code, ''), 'classification', c.classification,
				'place', row_number() over (order by ` + page.TextSQL("a.code") + `, ` + page.TextSQL("a.name") + `, a.id)) as words
			from account a join account_category c on c.team_id = @team and c.id = a.category_id
			where a.team_id = @team and a.id = any(array(select account_id from used))
		), accounts as materialized (
			select u.statement_id, jsonb_object_agg(c.id, c.words) as words
			from (select distinct statement_id, account_id from used) u join chart c on c.id = u.account_id group by 1
		), stays as materialized (
			select u.statement_id, jsonb_object_agg(r.id, jsonb_build_object('guestName', r.guest_name, 'confirmationCode', r.confirmation_code,
				'checkIn', r.check_in, 'checkOut', r.check_out, 'bookingPlatform', r.booking_platform, 'status', r.status)) as words
			from (select distinct statement_id, reservation_id from used where reservation_id is not null) u
			cross join lateral (select * from reservation where team_id = @team and id = u.reservation_id` + db.Fence + `) r group by 1
		)`

// updateWordsSQL returns the statement that saves the names of now with statements that are published, and clears those
// of others. It runs after the status and entries of the statements were written.
func updateWordsSQL(tx *db.Tx, statements []id.ID) db.Stmt {
	return updateKeptSQL(tx, statements, "[]")
}

// updateKeptSQL returns the statement that saves names as updateWordsSQL does and, in the same write of each row, the
// members' shares of those that a JSON array of {id, shares} has.
func updateKeptSQL(tx *db.Tx, statements []id.ID, shares string) db.Stmt {
	return db.Stmt{Args: db.Args{"team": tx.Team, "ids": statements, "shares": shares}, SQL: entryWordsSQL + `
		update statement s set shares = coalesce(g.shares, s.shares), words = case when s.status = 'published' then jsonb_build_object(
			'listing', (select jsonb_build_object('name', l.name, 'uniqueRef', l.unique_ref, 'address', l.address)
				from listing l where l.team_id = @team and l.id = s.listing_id),
			'owners', (select coalesce(jsonb_object_agg(c.id, jsonb_build_object('name', c.name, 'address', c.address)), '{}')
				from listing_ownership_member m join contact c on c.team_id = @team and c.id = m.contact_id
				where m.team_id = @team and m.period_id = s.ownership_period_id),
			'accounts', coalesce((select a.words from accounts a where a.statement_id = s.id), '{}'),
			'stays', coalesce((select r.words from stays r where r.statement_id = s.id), '{}')
		) end
		from unnest(@ids::uuid[]) n (id) left join jsonb_to_recordset(@shares::jsonb) g (id uuid, shares bigint[]) on g.id = n.id
		where s.team_id = @team and s.id = n.id`}
}

// loadWords loads the names that statements keep, those of entries included. Statements that keep none are left out.
func loadWords(ctx context.Context, tx *db.Tx, rows []row) (map[id.ID]*Words, error) {
	type kept struct {
		ID    id.ID
		Words *Words
	}

	// Only published statements keep names.
	published := collectPublished(rows)
	if len(published) == 0 {
		return nil, nil
	}

	found, err := db.Select[kept](ctx, tx, `select id, words from statement where team_id = @team and id = any(@ids) and words is not null`,
		db.Args{"team": tx.Team, "ids": published})
	if err != nil {
		return nil, fmt.Errorf("read words of statements: %w", err)
	}

	out := make(map[id.ID]*Words, len(found))
	for i := range found {
		out[found[i].ID] = found[i].Words
	}

	return out, nil
}

// describe gives a statement the names that it keeps; nil leaves it as it is.
func (w *Words) describe(s *Statement) {
	if w == nil {
		return
	}

	s.Words = w

	s.Listing.Name, s.Listing.UniqueRef = w.Listing.Name, w.Listing.UniqueRef
	for i := range s.Shares {
		if o, ok := w.Owners[s.Shares[i].ContactID]; ok {
			s.Shares[i].Name = o.Name
		}
	}
}

// describeEntries returns the entries of a statement with the names that it keeps, in the order that follows from
// these names.
func (w *Words) describeEntries(entries []entry) []entry {
	if w == nil {
		return entries
	}

	// Clone them, because the caller may hold the same slice.
	entries = slices.Clone(entries)
	for i := range entries {
		e := &entries[i]
		if a, ok := w.Accounts[e.AccountID]; ok {
			e.AccountName, e.AccountCode, e.Classification = a.Name, a.Code, a.Classification
		}

		// Entries without a stay have no more names.
		if e.ReservationID == nil {
			continue
		}

		if r, ok := w.Stays[*e.ReservationID]; ok {
			e.GuestName, e.ConfirmationCode, e.BookingPlatform = r.GuestName, r.ConfirmationCode, r.BookingPlatform
			e.CheckIn, e.CheckOut, e.ReservationStatus = &r.CheckIn, &r.CheckOut, &r.Status
		}
	}

	// Sort as loadEntries does in SQL, with the account's kept place in place of its code and name.
	slices.SortStableFunc(entries, func(a, b entry) int {
		return cmp.Or(a.Date.Compare(b.Date), staysFirst(a.ReservationID, b.ReservationID),
			cmp.Compare(w.Accounts[a.AccountID].Place, w.Accounts[b.AccountID].Place), a.ID.Compare(b.ID))
	})

	return entries
}

// staysFirst orders entries by their stays' ids; entries without a stay come last.
func staysFirst(a, b *id.ID) int {
	switch {
	case a == nil && b == nil:
		return 0
	case a == nil:
		return 1
	case b == nil:
		return -1
	default:
		return a.Compare(*b)
	}
}
